"""Which generation is meant: a number, ``-1``, a name, a time, ``good``.

Nobody knows at noon that noon was good, so a time is a name: what served then.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
from dataclasses import dataclass

from launcher.errors import InputError
from launcher.operations.timeline import at, spans
from launcher.store import Store
from launcher.store.names import named

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGO = re.compile(r"(\d+)([smhd])(?: ago)?")
_CLOCK = re.compile(r"(?:(today|yesterday|\d{4}-\d{2}-\d{2})[ T])?(\d{1,2}):(\d{2})")
_WORDS = {"noon": "12:00", "midnight": "00:00"}


@dataclass(frozen=True, slots=True)
class Meant:
    """A generation, and what a reader should know of how it was found."""

    number: int
    said: str | None = None
    """``noon is no name here: taken as today 12:00``."""


def meant(store: Store, text: str, *, now: dt.datetime | None = None) -> Meant:
    """The generation that `text` means; raises InputError saying what may be written, and what is near."""
    now = now or dt.datetime.now().astimezone()
    if re.fullmatch(r"-?\d+", text):
        return Meant(_numbered(store, int(text)))
    known = named(store)
    if text in known:
        return Meant(known[text])
    if text == "good":
        return _good(store, now)
    moment = moment_of(_WORDS.get(text, text), now)
    if moment is None:
        near = difflib.get_close_matches(text, [*known, "good", "noon"], n=1)
        raise InputError(
            f"{text!r} is no generation: write a number, -1, a name, a time (12:00, 2h) or good",
            hint=f"did you mean {near[0]}?" if near else "pdlaunch history",
        )
    found = at(moment, spans(store.events()))
    shown = moment.strftime("%Y-%m-%d %H:%M")
    if found is None:
        unnamed = f"no generation is called {text}, and " if text in _WORDS else ""
        raise InputError(f"{unnamed}nothing had served at {shown}", hint="pdlaunch history")
    if found not in store.numbers():
        raise InputError(f"generation {found} served at {shown}, but it was pruned", hint="pdlaunch history")
    return Meant(found, f"{text} is {'no name here: ' if text in _WORDS else ''}{shown}, when {found} served")


def moment_of(text: str, now: dt.datetime) -> dt.datetime | None:
    """A time of day (the last one that has been), a date with one, or how long ago; None for anything else."""
    if ago := _AGO.fullmatch(text):
        return now - dt.timedelta(seconds=int(ago[1]) * _UNITS[ago[2]])
    clock = _CLOCK.fullmatch(text)
    if clock is None or int(clock[2]) > 23 or int(clock[3]) > 59:
        return None
    moment = now.replace(hour=int(clock[2]), minute=int(clock[3]), second=0, microsecond=0)
    if clock[1] is None:
        return moment if moment <= now else moment - dt.timedelta(days=1)
    if clock[1] in ("today", "yesterday"):
        return moment - dt.timedelta(days=clock[1] == "yesterday")
    try:
        day = dt.date.fromisoformat(clock[1])
    except ValueError:
        return None
    return moment.replace(year=day.year, month=day.month, day=day.day)


def _numbered(store: Store, value: int) -> int:
    if value >= 0:
        return store.generation(value).number
    before = served_before(store)
    if len(before) < -value:
        said = f"{len(before)} served before the current one" if before else "none served before the current one"
        raise InputError(f"there is no generation {value}: {said}", hint="pdlaunch history")
    return before[value]


def served_before(store: Store) -> list[int]:
    """The generations that served before the current one and are still there, in the order they last served in.

    A number below the current one may be a start that failed: nobody means that with the one before.
    """
    there, current = set(store.numbers()), store.current()
    last = {span.generation: span.start for span in spans(store.events())}
    return [n for n in sorted(last, key=lambda number: last[number]) if n in there and n != current]


def _good(store: Store, now: dt.datetime) -> Meant:
    from launcher.operations.evidence import good_of

    found = good_of(store, now=now)
    if found is None:
        raise InputError("no generation has served an hour of traffic yet without a hang", hint="pdlaunch history")
    return Meant(found.generation, f"good is {found.generation}: {found.words}")
