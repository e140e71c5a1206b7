"""`history`: the generations of a deployment, who made them and why, when each served and how far it was proven."""

from __future__ import annotations

import datetime as dt

from launcher.frozen import Frozen
from launcher.store import Event, Store

SCHEMA = 1


class Row(Frozen):
    """One generation."""

    generation: int
    written: str
    """ISO 8601."""
    by: str
    why: str | None
    current: bool
    served: float | None
    """Seconds that it was the current one, as long as nothing was stopped."""
    verdict: str
    """``served``, ``serves``, ``failed: why`` or ``never started``."""
    proven: int | None
    """Tokens of the longest prompt that was answered."""


def history(store: Store) -> tuple[Row, ...]:
    """Every generation, newest first."""
    events = store.journal.events()
    numbers = set(store.numbers())
    current = store.current()
    committed = {e.generation: e for e in events if e.what == "committed" and e.generation in numbers}
    return tuple(_row(n, committed[n], events, current) for n in sorted(numbers, reverse=True) if n in committed)


def _row(number: int, committed: Event, events: tuple[Event, ...], current: int | None) -> Row:
    serving = _spans(number, events)
    ended = [e for e in events if e.what == "finished" and e.generation == number]
    proofs = [e.details.get("tokens") for e in events if e.what == "proved" and e.generation == number]
    return Row(
        generation=number,
        written=committed.at.isoformat(timespec="seconds"),
        by=committed.by,
        why=committed.why,
        current=number == current,
        served=sum(serving) if serving else None,
        verdict=_verdict(ended, open_ended=bool(_open(number, events)), served=bool(serving)),
        proven=max((t for t in proofs if isinstance(t, int)), default=None),
    )


def _verdict(ended: list[Event], *, open_ended: bool, served: bool) -> str:
    if open_ended:
        return "serves"
    if served:
        return "served"
    if ended and ended[-1].details.get("outcome") != "done":
        return f"{ended[-1].details.get('outcome')}: {ended[-1].why or 'no reason noted'}".splitlines()[0]
    return "never started"


def _open(number: int, events: tuple[Event, ...]) -> dt.datetime | None:
    """Since when the generation serves, if nothing ended that."""
    since = None
    for event in events:
        if event.what == "current":
            since = event.at if event.generation == number else None
        elif event.what == "finished" and event.details.get("operation") == "down":
            since = None
    return since


def _spans(number: int, events: tuple[Event, ...]) -> list[float]:
    """Seconds of each stretch in which the generation was the current one and nothing was stopped."""
    spans: list[float] = []
    since: dt.datetime | None = None
    for event in events:
        ends = event.what == "current" or (event.what == "finished" and event.details.get("operation") == "down")
        if since and ends:
            spans.append((event.at - since).total_seconds())
            since = None
        if event.what == "current" and event.generation == number:
            since = event.at
    if since:
        spans.append((dt.datetime.now().astimezone() - since).total_seconds())
    return spans
