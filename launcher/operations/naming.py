"""`name`: a generation gets a word, so that one can come back to it by that word."""

from __future__ import annotations

from dataclasses import dataclass

from launcher.errors import InputError
from launcher.store import Store, give_name, named, take_name, who, writer
from launcher.store.names import check_known, check_name


@dataclass(frozen=True, slots=True)
class Named:
    """A name and what it points to."""

    deployment: str
    name: str
    generation: int
    before: int | None
    """Where it pointed until now; equal to `generation` where nothing changed."""


def name(store: Store, word: str, number: int | None, *, why: str | None = None, move: bool = False) -> Named:
    """Call generation `number`, or the current one, `word`.

    Raises InputError for what cannot be a name and for one that another generation has, unless `move`; BusyError while
    somebody changes the deployment.
    """
    by = who()
    with writer(store.layout, "name", by, why):
        store.recover(by=by)
        chosen = number if number is not None else current(store)
        before = give_name(store, word, chosen, by=by, why=why, move=move)
    return Named(store.layout.deployment, word, chosen, before)


def would_name(store: Store, word: str, number: int | None, *, move: bool = False) -> Named:
    """What `name` would do; raises what it would raise."""
    chosen = number if number is not None else current(store)
    return Named(store.layout.deployment, word, chosen, check_name(store, word, chosen, move=move))


def unname(store: Store, word: str, *, why: str | None = None) -> Named:
    """Take a name away; raises InputError where no generation has it."""
    by = who()
    with writer(store.layout, "name", by, why):
        store.recover(by=by)
        number = take_name(store, word, by=by, why=why)
    return Named(store.layout.deployment, word, number, number)


def would_unname(store: Store, word: str) -> Named:
    """What `unname` would do; raises what it would raise."""
    number = check_known(store, word)
    return Named(store.layout.deployment, word, number, number)


def names(store: Store) -> tuple[Named, ...]:
    """Every name of a deployment."""
    return tuple(Named(store.layout.deployment, word, number, number) for word, number in named(store).items())


def current(store: Store) -> int:
    """The generation that is current; raises InputError where none has served yet."""
    number = store.current()
    if number is None:
        raise InputError(f"{store.layout.deployment} has not served yet", hint="pdlaunch up PROFILE")
    return number
