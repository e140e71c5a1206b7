"""When each generation served, read from the journal in one pass. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from launcher.store import Event
from launcher.store.pointing import ACTIVATED


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch in which one generation served."""

    generation: int
    start: dt.datetime
    end: dt.datetime | None
    """None while it lasts."""
    ended_by: str | None
    """The operation that ended it: ``up``, ``down``, ``rollback``; None while it lasts."""

    def seconds(self, now: dt.datetime) -> float:
        """How long it lasted, or has lasted."""
        return ((self.end or now) - self.start).total_seconds()


def spans(events: Iterable[Event]) -> tuple[Span, ...]:
    """Every stretch, oldest first.

    A generation serves from the moment that it became current until another operation on the deployment had stopped it;
    an operation that left it running (a restart of the same one) does not end it.
    """
    found: list[Span] = []
    open_: Span | None = None
    for event in events:
        if event.what == "current" and event.generation is not None:
            if open_ and open_.generation == event.generation:
                continue
            if open_:
                found.append(_ended(open_, event.at, "activate" if event.why == ACTIVATED else "up"))
            open_ = Span(event.generation, event.at, None, None)
        elif event.what == "finished" and open_ and _stops(event):
            found.append(_ended(open_, event.at, str(event.details.get("operation"))))
            open_ = None
        elif found and open_ and _rolled_back_to(event, open_):
            # The pointer moved just before; only now is it known that it was a rollback that moved it.
            found[-1] = _ended(found[-1], found[-1].end or event.at, "rollback")
    return (*found, open_) if open_ else tuple(found)


def at(moment: dt.datetime, stretches: Iterable[Span]) -> int | None:
    """The generation that served at `moment`, or the last one before it; None where none had served yet."""
    before = [span for span in stretches if span.start <= moment]
    return max(before, key=lambda span: span.start).generation if before else None


def _ended(span: Span, end: dt.datetime, by: str) -> Span:
    return Span(span.generation, span.start, end, by)


def _rolled_back_to(event: Event, span: Span) -> bool:
    done = event.what == "finished" and event.details.get("outcome") == "done"
    return done and event.details.get("operation") == "rollback" and event.generation == span.generation


def _stops(event: Event) -> bool:
    """Whether the deployment as it was served no longer when the operation had ended."""
    if event.details.get("untouched"):
        return False
    operation, outcome = event.details.get("operation"), event.details.get("outcome")
    return (operation == "down" and outcome == "done") or outcome in ("failed", "interrupted")
