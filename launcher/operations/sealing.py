"""From a checked profile to a generation: the engine's source snapshotted, the plan made, the files rendered."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from launcher.engines.bytecode import prepare
from launcher.engines.snapshot import Snapshot, read_manifest, snapshot
from launcher.errors import PdlaunchError
from launcher.lock import Intent, Read, intent_of, lock_of, to_yaml
from launcher.operations.checking import Checked
from launcher.operations.engine_reading import read_engine, same_packages, with_edits
from launcher.plan import Plan, resolve
from launcher.render import render
from launcher.store import About, Generation, Store, plan_digest


def take_snapshot(roots: Mapping[str, Path], store: Store) -> Snapshot | None:
    """The engine's source as it is now, kept in the store; None for an engine whose source is not known."""
    if not roots:
        return None
    place = store.layout
    former = _former(store)
    hashes = place.cache / f"hashes-{place.deployment}.json"
    taken = snapshot(roots, place.engines, cache=hashes, bytecode=place.bytecode)
    prepare(taken.path, place.bytecode / taken.digest, roots, former)
    return taken


def _former(store: Store) -> Path | None:
    """The snapshot that ran last, whose bytecode still fits wherever its text does."""
    with contextlib.suppress(PdlaunchError):  # a damaged one only costs time
        current = store.current()
        digest = store.generation(current).seal.engine if current is not None else None
        return store.layout.engines / digest if digest else None
    return None


def seal(checked: Checked, store: Store, *, backend: str | None, by: str, why: str | None) -> tuple[Generation, bool]:
    """The generation that starts exactly this, and whether it is a new one.

    The one that was recorded last is taken again where nothing differs: a comment moved, or an `up` that was killed.
    """
    taken = take_snapshot(checked.roots, store)
    digest = taken.digest if taken else None
    facts = checked.facts.model_copy(update={"snapshot": digest})
    plan = resolve(checked.loaded, facts, backend=backend)
    read = read_engine(checked)
    if same := recorded_before(plan, store, read):
        return same, False
    tree = read_manifest(store.layout.engines, digest) if digest else None
    intent = intent_of(plan, checked.loaded.profile, with_edits(read, tree, checked.roots))
    profile, source = checked.loaded.text.encode(), str(checked.loaded.path.absolute())
    return record(plan, intent, store, profile=profile, source=source, by=by, why=why), True


def record(
    plan: Plan, intent: Intent, store: Store, *, profile: bytes, source: str, by: str, why: str | None
) -> Generation:
    """Write the next generation with its lock; its engine snapshot is in the store already."""

    def lock(about: About) -> str:
        at = about.written.replace(microsecond=0)
        return to_yaml(lock_of(intent, plan, by=by, written=at, why=why, generation=about.number, source=source))

    bundle = render(plan, store.layout)
    digest = plan.engine.snapshot
    return store.commit(profile, plan, bundle, snapshot_digest=digest, by=by, why=why, source=source, lock=lock)


def recorded_before(plan: Plan, store: Store, read: Read) -> Generation | None:
    """The current or the newest generation, where it starts the same with the same packages and is still whole."""
    numbers = store.numbers()
    candidates = dict.fromkeys(n for n in (store.current(), numbers[-1] if numbers else None) if n in numbers)
    wanted = plan_digest(plan, plan.engine.snapshot)
    for number in candidates:
        if number is not None and not store.verify(number):
            generation = store.generation(number)
            lock = generation.lock
            if generation.seal.digest == wanted and (lock is None or same_packages(lock.intent, read)):
                return generation
    return None
