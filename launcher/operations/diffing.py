"""`diff`: what differs between two generations, lock files or profiles, and who brought it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.compare import Change, Differences, differences, patch
from launcher.errors import InputError
from launcher.operations.blaming import blame
from launcher.operations.selecting import select
from launcher.operations.sides import Given, is_file, of_file, of_generation
from launcher.store import About, Store


@dataclass(frozen=True, slots=True)
class Diff:
    """Two sides, what differs, and which generation brought it."""

    before: Given
    after: Given
    differences: Differences
    brought: Mapping[Change, About]
    """The generation that brought the newer value; only between generations."""
    current: int | None
    """The generation that is meant to run."""


def diff(before: str | None, after: str | None, *, deployment: str | None = None) -> Diff:
    """Compare two generations, lock files or profiles.

    Left out, `after` is the current generation and `before` the one before it. Raises InputError for what is neither,
    and where nothing was started yet.
    """
    files = [Path(word) for word in (before, after) if word is not None and is_file(word)]
    needed = len(files) < 2
    store = select(deployment or (_deployment(files[0]) if files else None)) if needed else None
    new = _given(after, store) if after is not None else _current(_required(store))
    old = _given(before or "-1", store)
    found = differences(old.side, new.side)
    return Diff(old, new, found, _brought(found, old, new, store), store.current() if store else None)


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

    number = meant(store, word).number
    return of_generation(
        store.generation(number), store, None if word.lstrip("-").isdecimal() else f"{word} ({number})"
    )


def _current(store: Store) -> Given:
    number = store.current()
    if number is None:
        raise InputError("nothing was started yet, so there is nothing to compare with", hint="name both sides")
    return of_generation(store.generation(number), store)


def _brought(found: Differences, old: Given, new: Given, store: Store | None) -> Mapping[Change, About]:
    if store is None or old.generation is None or new.generation is None:
        return {}
    changes = [difference.change for difference in found.found]
    return {change: g.about for change, g in blame(changes, old.generation, new.generation, store).items()}


def source_patch(found: Diff) -> Iterator[str]:
    """The edits of the engine's source, line by line; raises InputError where the files of one side are not here."""
    old, new = found.before.side, found.after.side
    names = [d.change.name for d in found.differences.found if d.change.kind == "source"]
    if "" in names or "source" in found.differences.unknown:
        missing = next(side.label for side in (old, new) if side.tree.files is None)
        raise InputError(
            f"the source of {missing} is not on this machine", hint="compare generations: pdlaunch history"
        )
    return patch(old.tree, new.tree, sorted(names))
