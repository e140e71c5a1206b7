"""`plan`: what `up` would do, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from launcher.engines.manifest import Manifest, manifest
from launcher.errors import PdlaunchError, Problem
from launcher.operations.checking import check, sound
from launcher.operations.driving import backend_of
from launcher.operations.moving import Move
from launcher.operations.obstacles import Obstacles, obstacles
from launcher.operations.proven_before import Known, proven_before
from launcher.operations.subject import is_about
from launcher.operations.surveying import etas, find_move
from launcher.plan import Plan, resolve
from launcher.profile import is_lock_file
from launcher.store import Store, layout

if TYPE_CHECKING:
    from launcher.compare import Change


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what was noticed on the way."""

    plan: Plan
    problems: tuple[Problem, ...]
    """Warnings: errors stop before."""
    snapshot: str | None
    """Digest of the engine's source."""
    manifest: Manifest | None = None
    """The source's files, where it lies here."""
    roots: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan, and the way to it from what runs."""

    plan: Plan
    problems: tuple[Problem, ...]
    """Warnings: errors stop before."""
    against: int | None
    """The generation that is current now."""
    changes: tuple[Change, ...]
    move: Move
    eta: float | None
    """Seconds until the slowest service that starts is loaded, by this machine's earlier starts."""
    proven: Known
    """How far earlier generations prove what would start."""
    obstacles: Obstacles
    damage: str | None
    """Why the current generation cannot be compared with."""


def planned(profile: Path, *, backend: str | None = None) -> Planned:
    """The plan of a profile with the engine's source as it is now, or of a lock as it is; nothing is copied.

    Raises InputError carrying every problem of a profile with errors, and for a lock that was cut short or edited.
    """
    if is_lock_file(profile):
        from launcher.lock import plan_of, read_lock  # a lock's whole room, of which a profile needs nothing

        locked = plan_of(read_lock(profile))
        return Planned(locked, (), locked.engine.snapshot)
    checked = check(profile, backend=backend)
    sound(checked)
    place = layout(checked.loaded.profile.name)
    source = manifest(checked.roots, cache=place.cache / f"hashes-{place.deployment}.json") if checked.roots else None
    digest = source.digest if source else None
    facts = checked.facts.model_copy(update={"snapshot": digest})
    plan = resolve(checked.loaded, facts, backend=backend)
    return Planned(plan, checked.problems, digest, source, checked.roots)


def propose(profile: Path, *, backend: str | None = None, confirm: bool = False) -> Proposal:
    """What `up` of the profile would do; raises InputError carrying every problem of a profile with errors.

    With `confirm` it also raises InputError where the former generation could not return by itself.
    """
    found = planned(profile, backend=backend)
    plan = found.plan
    store = Store(layout(plan.deployment))
    is_about(plan.deployment)
    if confirm:
        from launcher.operations.confirming import require_returnable

        require_returnable(plan, store)
    current = store.current()
    before, damage = _before(store, current)
    move = find_move(plan, backend_of(plan, store.layout), store)[0]
    known = etas(store)
    eta = max((known[name] for name in move.start if name in known), default=None)
    way = obstacles(plan, store.layout, move.start)
    proven = proven_before(store, plan)
    return Proposal(plan, found.problems, current, _changes(before, found, store), move, eta, proven, way, damage)


def _before(store: Store, current: int | None) -> tuple[Plan | None, str | None]:
    """The plan that is current; why not where it is damaged, which is no reason not to go to another."""
    try:
        return (store.generation(current).plan if current is not None else None), None
    except PdlaunchError as error:
        return None, error.message


def _changes(before: Plan | None, found: Planned, store: Store) -> tuple[Change, ...]:
    if before is None:
        return ()
    from launcher.operations.planned_changes import Source, planned_changes  # a first plan compares nothing

    source = Source(found.manifest, found.roots) if found.manifest else None
    return planned_changes(before, found.plan, source, store.layout)
