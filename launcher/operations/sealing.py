"""From a checked profile to a generation: the engine's source snapshotted, the plan made, the files rendered."""

from __future__ import annotations

from pathlib import Path

from launcher.engines.bytecode import prepare
from launcher.engines.snapshot import Snapshot, snapshot
from launcher.operations.checking import Checked
from launcher.plan import Plan, resolve
from launcher.render import render
from launcher.store import Generation, Store, plan_digest


def take_snapshot(checked: Checked, store: Store) -> Snapshot | None:
    """The engine's source as it is now, kept in the store; None for an engine whose source is not known."""
    if not checked.roots:
        return None
    place = store.layout
    former = _former(store)
    hashes = place.cache / f"hashes-{place.deployment}.json"
    taken = snapshot(checked.roots, place.engines, cache=hashes, bytecode=place.bytecode)
    prepare(taken.path, place.bytecode / taken.digest, checked.roots, former)
    return taken


def _former(store: Store) -> Path | None:
    """The snapshot that ran last, whose bytecode still fits wherever its text does."""
    current = store.current()
    digest = store.generation(current).seal.engine if current in store.numbers() and current is not None else None
    return store.layout.engines / digest if digest else None


def seal(checked: Checked, store: Store, *, backend: str | None, by: str, why: str | None) -> tuple[Generation, bool]:
    """The generation that starts exactly this, and whether it is a new one.

    The one that was recorded last is taken again where nothing differs: a comment moved, or an `up` that was killed.
    """
    taken = take_snapshot(checked, store)
    digest = taken.digest if taken else None
    facts = checked.facts.model_copy(update={"snapshot": digest})
    plan = resolve(checked.loaded, facts, backend=backend)
    same = _same(plan, digest, store)
    if same:
        return same, False
    bundle = render(plan, store.layout)
    text = checked.loaded.text.encode()
    source = str(checked.loaded.path.absolute())
    return store.commit(text, plan, bundle, snapshot_digest=digest, by=by, why=why, source=source), True


def _same(plan: Plan, snapshot_digest: str | None, store: Store) -> Generation | None:
    numbers = store.numbers()
    candidates = dict.fromkeys(n for n in (store.current(), numbers[-1] if numbers else None) if n in numbers)
    wanted = plan_digest(plan, snapshot_digest)
    for number in candidates:
        generation = store.generation(number) if number else None
        if generation and generation.seal.digest == wanted and not store.verify(generation.number):
            return generation
    return None
