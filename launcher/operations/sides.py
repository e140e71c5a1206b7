"""What a word on the command line stands for in a comparison: a generation, a lock file, or a profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from launcher.compare import CheckoutTree, Edited, Side, SnapshotTree, Tree, UnknownTree
from launcher.errors import InputError
from launcher.operations import recorded
from launcher.render import Layout
from launcher.store import Generation, Store, layout


@dataclass(frozen=True, slots=True)
class Given:
    """A side, and the generation that it is, where it is one."""

    side: Side
    generation: Generation | None = None
    said: str | None = None
    """What a reader should know of how it was found: which time a word was taken for."""


def is_file(text: str) -> bool:
    """Whether a word names a file rather than a generation."""
    return "/" in text or text.endswith((".yaml", ".yml"))


def of_generation(generation: Generation, store: Store, label: str | None = None) -> Given:
    """A generation as a side, its records read only where they differ; raises PdlaunchError for a damaged plan."""
    side = Side(
        label or str(generation.number),
        generation.plan,
        snapshot_of(store.layout, generation.seal.engine, lambda: recorded.edited_in(generation)),
        packages=recorded.packages(generation),
        bundle=recorded.bundle(generation),
        receipt=recorded.machine(store.layout, generation.number),
        decided=recorded.decided(store.layout, generation.number),
        fingerprints=recorded.fingerprints(store.layout, generation.number),
        written=recorded.declared_in(generation),
    )
    return Given(side, generation)


def of_file(path: Path, backend: str | None = None) -> Given:
    """A lock file or a profile as a side; raises InputError for what is neither.

    `backend` is taken for a profile that names none.
    """
    from launcher.profile import is_lock

    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            start = file.read(1 << 12)
    except OSError as error:
        reason = f"{path}: cannot be read: {error.strerror}"
        raise InputError(reason, hint="name a lock file, a profile or a generation: pdlaunch history") from None
    if not is_lock(start):
        return Given(_of_profile(path, backend))
    from launcher.lock import plan_of, read_lock

    lock = read_lock(path)
    plan = plan_of(lock)
    tree = snapshot_of(layout(plan.deployment), plan.engine.snapshot, lambda: recorded.edited(lock.intent))
    packages = lock.intent.engine.packages.versions
    return Given(Side(str(path), plan, tree, packages=packages, bundle=lock.intent.bundle))


def snapshot_of(place: Layout, digest: str | None, edited: Callable[[], Edited | None] = lambda: None) -> Tree:
    """The source with this digest, where the deployment has a snapshot of it; `edited` says what a lock has of it."""
    if digest is None or not (place.engines / f"{digest}.json").exists():
        return UnknownTree(digest, edited() if digest else None)
    return SnapshotTree(place.engines, digest, edited)


def _of_profile(path: Path, backend: str | None) -> Side:
    """The profile as `up` would take it now, without judging it: only `check`, `plan` and `up` do that."""
    from launcher.engines.manifest import manifest
    from launcher.lock import Read, intent_of
    from launcher.operations.facts import gather
    from launcher.plan import resolve
    from launcher.profile import load

    loaded = load(path)
    gathered = gather(loaded)
    place = layout(loaded.profile.name)
    found = manifest(gathered.roots, cache=place.cache / f"hashes-{place.deployment}.json") if gathered.roots else None
    facts = gathered.facts.model_copy(update={"snapshot": found.digest if found else None})
    plan = resolve(loaded, facts, backend=backend)
    tree: Tree = CheckoutTree(found, gathered.roots) if found else UnknownTree(None)
    packages = facts.engine.distributions if facts.engine else None
    bundle = intent_of(plan, loaded.profile, Read()).bundle
    return Side(str(path), plan, tree, packages=packages, bundle=bundle, written=lambda _: loaded)
