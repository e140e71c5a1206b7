"""`lock`: what a profile would start, written beside it for git; and whether that still is so."""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from launcher.compare import Change, changes
from launcher.durable import write_whole
from launcher.engines.manifest import manifest
from launcher.errors import InputError, PdlaunchError, Problem
from launcher.lock import Intent, Lock, intent_of, lock_of, plan_of, read_lock, to_yaml
from launcher.lock.difference import Difference, differences
from launcher.operations.checking import Checked, check, sound
from launcher.operations.engine_reading import read_engine, with_edits
from launcher.operations.naming import current
from launcher.plan import Plan, resolve
from launcher.store import Store, layout, who
from launcher.store.journal import now

_SAID = frozenset({"deployment", "profile"})
"""What can be compared where the engine is not."""
_FOLLOWING = frozenset({"profile", "ready.chunk", "ready.context"})
"""Places that say nothing new where something else differs, from which they follow."""


@dataclass(frozen=True, slots=True)
class Locked:
    """How locking a profile ended."""

    path: Path
    lock: Lock
    problems: tuple[Problem, ...]
    """Warnings: errors stop before."""
    before: Lock | None
    """What the file held, where there was one."""
    result: str
    """``wrote``, ``would write``, or ``unchanged`` for a file that says the same already and is left alone."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A lock file against what its profile would start now."""

    profile: Path
    path: Path
    complete: bool
    """False where the engine is not on this machine, so that only the profile could be compared."""
    changes: tuple[Change, ...]
    """Settings of services."""
    others: tuple[Difference, ...]
    """Everything else."""

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.changes and not self.others


def lock_path(profile: Path) -> Path:
    """``dsv4-flash.lock.yaml`` beside ``dsv4-flash.yaml``."""
    return profile.with_name(f"{profile.name.removesuffix('.yaml').removesuffix('.yml')}.lock.yaml")


def lock_profile(profile: Path, *, backend: str | None = None, why: str | None = None, dry_run: bool = False) -> Locked:
    """Write the profile's lock beside it, unless `dry_run` or the file says the same already.

    Raises InputError for a profile with errors and where its engine is not on this machine, PdlaunchError where the
    file cannot be written.
    """
    checked = check(profile, backend=backend)
    sound(checked)
    _require_engine(checked)
    plan, intent = _intent(checked, backend)
    lock = lock_of(intent, plan, by=who(), written=_moment(), why=why, source=profile.name)
    path = lock_path(profile)
    before = _before(path)
    same = before is not None and before.intent == intent and before.about.origins == lock.about.origins
    if not same and not dry_run:
        _write(path, to_yaml(lock))
    result = "unchanged" if same else "would write" if dry_run else "wrote"
    return Locked(path, before if same and before else lock, checked.problems, before, result)


def compare_profile(profile: Path, *, backend: str | None = None) -> Compared:
    """The profile against the lock beside it; raises InputError where either cannot be read."""
    path = lock_path(profile)
    lock = read_lock(path)
    checked = check(profile, backend=backend or lock.intent.backend)
    sound(checked)
    plan, intent = _intent(checked, backend or lock.intent.backend)
    others = differences(lock.intent, intent)
    if not _has_engine(checked):
        return Compared(profile, path, complete=False, changes=(), others=tuple(d for d in others if d.place in _SAID))
    settings = changes(plan_of(lock), plan)
    rest = tuple(d for d in others if d.place not in _FOLLOWING)
    return Compared(profile, path, complete=True, changes=settings, others=rest if settings or rest else others)


def lock_of_current(store: Store) -> Lock:
    """The lock of the generation that is current; raises InputError where none has served, or it has no lock."""
    number = current(store)
    found = store.generation(number).lock
    if found is None:
        raise InputError(f"generation {number} was made without a lock", hint="pdlaunch up PROFILE makes one with it")
    return found


def _intent(checked: Checked, backend: str | None) -> tuple[Plan, Intent]:
    place = layout(checked.loaded.profile.name)
    tree = manifest(checked.roots, cache=place.cache / f"hashes-{place.deployment}.json") if checked.roots else None
    facts = checked.facts.model_copy(update={"snapshot": tree.digest if tree else None})
    plan = resolve(checked.loaded, facts, backend=backend)
    return plan, intent_of(plan, checked.loaded.profile, with_edits(read_engine(checked), tree, checked.roots))


def _moment() -> dt.datetime:
    return now().replace(microsecond=0)


def _has_engine(checked: Checked) -> bool:
    return checked.facts.engine is not None and bool(checked.roots)


def _require_engine(checked: Checked) -> None:
    if not _has_engine(checked):
        engine = checked.loaded.profile.engine
        place = engine.source or engine.venv or "the usual place"
        raise InputError(
            f"the engine is not on this machine ({place}), and a lock records what of it runs",
            hint="lock the profile where it is served; `lock PROFILE --check` compares here what can be compared",
        )


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        raise PdlaunchError(f"cannot write {path}: {error.strerror}", hint=f"ls -ld {path.parent}; id") from error


def _before(path: Path) -> Lock | None:
    """What stands in the file now; one that cannot be read is written anew."""
    with contextlib.suppress(InputError):
        return read_lock(path)
    return None
