"""Names of generations, such as ``noon``: pointers, kept in the journal alone, so that giving one is one append.

What a name points to is what the journal's last word on it says; a generation that was removed takes its names along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from launcher.errors import InputError
from launcher.store.journal import Event
from launcher.store.store import Store

NAMED, UNNAMED = "named", "unnamed"
"""What the journal calls it; the name is in the event's details."""
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_TAKEN = {"good": "the newest generation that served well", "now": "a time", "today": "a time", "yesterday": "a time"}
"""Words that mean something else wherever a generation may stand. ``noon`` is not among them: it may be a name."""


def named(store: Store) -> dict[str, int]:
    """Every name with its generation's number, sorted by name."""
    return names_in(store.journal.events())


def names_in(events: Iterable[Event]) -> dict[str, int]:
    """The names that these events leave, sorted. Pure."""
    found: dict[str, int] = {}
    for event in events:
        name = event.details.get("name")
        if event.what == NAMED and isinstance(name, str) and event.generation is not None:
            found[name] = event.generation
        elif event.what == UNNAMED and isinstance(name, str):
            found.pop(name, None)
        elif event.what == "removed":
            found = {other: number for other, number in found.items() if number != event.generation}
    return dict(sorted(found.items()))


def names_of(store: Store, number: int) -> tuple[str, ...]:
    """The names of one generation."""
    return tuple(name for name, pointed in named(store).items() if pointed == number)


def give_name(
    store: Store, name: str, number: int, *, by: str, why: str | None = None, move: bool = False
) -> int | None:
    """Let `name` point to generation `number`; where it pointed before, or None. To be called inside `writer`.

    Nothing is written where it points there already. Raises what `check_name` raises.
    """
    before = check_name(store, name, number, move=move)
    if before != number:
        details = {"name": name} | ({"was": before} if before is not None else {})
        store.journal.append(Event(what=NAMED, by=by, why=why, generation=number, details=details))
    return before


def check_name(store: Store, name: str, number: int, *, move: bool) -> int | None:
    """Where `name` points now, or None.

    Raises InputError for what cannot be a name, for a generation that there is not, and, unless `move`, for a name that
    another generation has.
    """
    require_name(name)
    store.generation(number)
    before = named(store).get(name)
    if before not in {None, number} and not move:
        deployment = store.layout.deployment
        raise InputError(
            f"generation {before} of {deployment} is called {name!r} already",
            hint=f"pdlaunch name {name} {number} -d {deployment} --move takes it away from there",
        )
    return before


def take_name(store: Store, name: str, *, by: str, why: str | None = None) -> int:
    """Take `name` away; the number of the generation that had it. To be called inside `writer`.

    Raises what `check_known` raises.
    """
    number = check_known(store, name)
    store.journal.append(Event(what=UNNAMED, by=by, why=why, generation=number, details={"name": name}))
    return number


def check_known(store: Store, name: str) -> int:
    """The generation called `name`; raises InputError, with the names that there are, where there is none."""
    known = named(store)
    if name not in known:
        there = f"there are: {', '.join(known)}" if known else "there are none"
        raise InputError(f"no generation of {store.layout.deployment} is called {name!r}; {there}")
    return known[name]


def require_name(name: str) -> None:
    """Raise InputError for what cannot be a name: it must not be taken for a number, a time or a file."""
    hint = "write a word such as noon or before-upgrade"
    if re.fullmatch(r"-?\d+", name):
        raise InputError(f"{name} is a generation's number, so it cannot be a name", hint=hint)
    if name in _TAKEN:
        raise InputError(f"{name!r} means {_TAKEN[name]} and cannot be a name", hint=hint)
    if re.fullmatch(r"(\d+[smhdw])+", name):
        raise InputError(f"{name!r} means a time and cannot be a name", hint=hint)
    if name.endswith((".yaml", ".yml")):
        raise InputError(f"{name!r} would be taken for a file and cannot be a name", hint=hint)
    if not _FORM.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be a name: letters, digits, '.', '_' and '-', at most 63, the first no sign", hint=hint
        )
