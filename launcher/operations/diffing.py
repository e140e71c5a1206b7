"""`diff`: what differs between two generations, lock files or profiles, and who brought it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from launcher.compare import Change, Differences, Judge, Risk, Side, differences, judge_of, patch, risk_of
from launcher.errors import InputError, PdlaunchError
from launcher.knobs.catalogue import catalogue
from launcher.operations.blaming import blame, touched_between
from launcher.operations.checkouts import Checkout, checkout
from launcher.operations.selecting import select
from launcher.operations.sides import Given, is_file, of_file, of_generation
from launcher.store import About, Generation, Store, cache_dir

if TYPE_CHECKING:
    from launcher.operations.drifting import Seen


@dataclass(frozen=True, slots=True)
class Diff:
    """Two sides, what differs, and which generation brought it."""

    before: Given
    after: Given
    differences: Differences
    brought: Mapping[Change, About]
    """The generation that brought the newer value; only between generations."""
    touched: tuple[str, ...]
    """Source files that are alike on both sides and were others in between."""
    current: int | None
    """The generation that is meant to run."""
    running: Seen | None
    """What runs, where `after` is the current generation."""
    checkout: Checkout | str | None = None
    """The source as it lies now, or why it cannot be compared; only with `live`."""
    unjudged: str | None = None
    """Why nothing that has been declared is told; None where it is."""
    live: bool = False
    """Whether what runs was asked for: then `running` was looked at closely, and counts."""

    @property
    def equal(self) -> bool:
        """Whether nothing differs, and where what runs was asked for, nothing of that either."""
        return self.differences.equal and not (self.live and self.running and self.running.alarms)


def diff(before: str | None, after: str | None, *, deployment: str | None = None) -> Diff:
    """Compare two generations, lock files or profiles.

    Left out, `after` is the current generation and `before` the one before it. Raises InputError for what is neither,
    and where nothing was started yet.
    """
    files = [Path(word) for word in (before, after) if word is not None and is_file(word)]
    needed = len(files) < 2
    store = select(deployment or (_deployment(files[0]) if files else None)) if needed else None
    new = _given(after, store) if after is not None else _current(_required(store))
    return _compared(_given(before or "-1", store), new, store)


def diff_live(before: str | None, *, deployment: str | None = None) -> Diff:
    """Compare a generation, lock file or profile with what really runs; left out, the current generation.

    Raises InputError where nothing was started yet.
    """
    from launcher.operations.drifting import look_closer

    of_file = _deployment(Path(before)) if before is not None and is_file(before) else None
    store = select(deployment or of_file)
    new = _current(store)
    found = _compared(_given(before, store) if before is not None else new, new, store)
    if found.running is None or new.generation is None:
        return found
    return replace(
        found, running=look_closer(found.running, store), checkout=_checkout(new.generation, store), live=True
    )


def _compared(old: Given, new: Given, store: Store | None) -> Diff:
    judge = _Judge(old.side, new.side)
    found = differences(old.side, new.side, judge)
    current = store.current() if store else None
    diff = Diff(old, new, found, {}, (), current, None, unjudged=judge.failed)
    if store is None or new.generation is None:
        return diff
    if new.generation.number == current:
        from launcher.operations.drifting import processes  # two files are compared without looking at what runs

        diff = replace(diff, running=processes(store))
    if old.generation is None:
        return diff
    changes = [difference.change for difference in found.found]
    blamed = blame(changes, old.generation, new.generation, store)
    return replace(
        diff,
        brought={change: generation.about for change, generation in blamed.items()},
        touched=touched_between(old.generation, new.generation, store),
    )


class _Judge:
    """By kind and by what has been declared; where that cannot be read by kind alone: what changed is shown anyway."""

    def __init__(self, before: Side, after: Side) -> None:
        self.failed: str | None = None
        """Why nothing that has been declared is told."""
        self._sides = before, after

    def __call__(self, change: Change) -> Risk:
        # An edit of the source is in no catalogue, and to read one takes as long as the rest.
        return self._declared(change) if change.kind in ("args", "env") else risk_of(change)

    @cached_property
    def _declared(self) -> Judge:
        try:
            return judge_of(catalogue(cache_dir() / "knobs"), *self._sides)
        except InputError as error:
            self.failed = error.message
            return risk_of


def _checkout(generation: Generation, store: Store) -> Checkout | str:
    try:
        return checkout(generation, store) or "the engine's source was not recorded"
    except PdlaunchError as error:
        return error.message


def _required(store: Store | None) -> Store:
    if store is None:
        raise InputError("there is no deployment to compare with", hint="name both sides")
    return store


def _deployment(path: Path) -> str:
    """Whose lock or profile it is: the other side belongs to the same deployment."""
    return of_file(path).side.plan.deployment


def _given(word: str, store: Store | None) -> Given:
    if is_file(word):
        current = store.current() if store else None
        backend = store.generation(current).plan.backend if store and current is not None else None
        return of_file(Path(word), backend)
    store = _required(store)
    from launcher.operations.generations import meant

    found = meant(store, word)
    label = None if word.lstrip("-").isdecimal() else f"{word} ({found.number})"
    return replace(of_generation(store.generation(found.number), store, label), said=found.said)


def _current(store: Store) -> Given:
    number = store.current()
    if number is None:
        raise InputError("nothing was started yet, so there is nothing to compare with", hint="name both sides")
    return of_generation(store.generation(number), store)


def source_patch(found: Diff) -> Iterator[str]:
    """The edits of the engine's source, line by line; raises InputError where the files of one side are not here."""
    old, new = found.before.side, found.after.side
    changes = [d.change for d in found.differences.found if d.change.kind == "source"]
    missing = next((side.label for side in (old, new) if side.tree.record is None), None)
    if missing:
        raise InputError(
            f"the source of {missing} is not on this machine", hint="compare generations: pdlaunch history"
        )
    return patch(old.tree, new.tree, sorted(changes, key=lambda change: change.name))
