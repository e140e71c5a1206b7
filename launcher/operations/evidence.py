"""What speaks for a generation: what it served by the watcher's record, and what the journal tells. Mostly pure."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from launcher.operations.counts import count
from launcher.operations.timeline import Span, spans
from launcher.store import Event, Store
from launcher.store.served import Served, served

HOUR = 3600.0
"""Seconds of traffic after which a generation may be called good: as long as the incidents that it must outlast."""
_BACK = "rollback"
"""The operation of the journal that leads back to an earlier generation."""
_UNCONFIRMED = "not confirmed"
"""What the journal says of a generation that nobody confirmed in time: see `launcher.operations.confirming`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of how one generation served."""

    generation: int
    ran: float
    """Seconds that it was in service, by the journal."""
    last: dt.datetime
    """When it last came into service."""
    left: bool
    """Whether somebody, or pdlaunch itself, rolled back from it to an earlier one."""
    served: Served | None
    """None where nobody watched."""

    @property
    def harmed(self) -> bool:
        """Whether it hung, lost a service, or was left by a rollback."""
        return self.left or bool(self.served and (self.served.hangs or self.served.deaths))

    @property
    def proved_good(self) -> bool:
        """Whether it served real traffic for an hour without a hang, a rollback away from it or a crash."""
        row = self.served
        return row is not None and row.requests > 0 and row.traffic >= HOUR and not self.harmed

    def __str__(self) -> str:
        """``1 h 36 min, 1,204 requests, longest 187k tokens, no hang``."""
        return summary(self.served, self.ran)


@dataclass(frozen=True, slots=True)
class Good:
    """The generation that `good` means."""

    generation: int
    words: str
    """Why."""
    by_traffic: bool
    """False where nobody watched, and the journal's times are all there is."""


def evidence(events: Sequence[Event], watched: Mapping[int, Served], now: dt.datetime) -> dict[int, Evidence]:
    """What is known of each generation that was ever in service, by number. Pure."""
    stretches: dict[int, list[Span]] = defaultdict(list)
    line = spans(events)
    for span in line:
        stretches[span.generation].append(span)
    left: set[int | None] = {event.generation for event in events if event.what == _UNCONFIRMED}
    left |= {a.generation for a, b in pairwise(line) if a.ended_by == _BACK and b.generation < a.generation}
    return {
        number: Evidence(
            generation=number,
            ran=sum(span.seconds(now) for span in found),
            last=max(span.start for span in found),
            left=number in left,
            served=watched.get(number),
        )
        for number, found in stretches.items()
    }


def good(found: Iterable[Evidence], there: Collection[int]) -> Good | None:
    """The newest of those `there` that is good by traffic; else the newest that ran an hour and nothing speaks against.

    Pure. None where there is neither.
    """
    newest = sorted((e for e in found if e.generation in there), key=lambda e: e.last, reverse=True)
    for each in newest:
        if each.proved_good:
            return Good(each.generation, str(each), by_traffic=True)
    for each in newest:
        if each.ran >= HOUR and each.served is None and not each.harmed:
            return Good(each.generation, f"it ran {hours(each.ran)}, and nobody watched its traffic", by_traffic=False)
    return None


def good_of(store: Store, *, now: dt.datetime | None = None) -> Good | None:
    """What `good` means in a deployment."""
    now = now or dt.datetime.now().astimezone()
    found = evidence(store.journal.events(), served(store.layout), now)
    return good(found.values(), store.numbers())


def evidence_of(store: Store, number: int) -> Evidence | None:
    """What is known of one generation; None for one that was never in service."""
    now = dt.datetime.now().astimezone()
    return evidence(store.journal.events(), served(store.layout), now).get(number)


def how_far(probe: int | None, traffic: int | None, context: int | None) -> str | None:
    """``to 64k by probe, to 187k by traffic, of 262k tokens``; None where nothing is proven."""
    of = f" of {count(context)}" if context else ""
    if probe and traffic and of:
        return f"to {count(probe)} by probe, to {count(traffic)} by traffic,{of} tokens"
    if probe and traffic:
        return f"to {count(probe)} tokens by probe, to {count(traffic)} by traffic"
    if probe or traffic:
        return f"to {count(probe or traffic)}{of} tokens by {'probe' if probe else 'traffic'}"
    return None


def summary(row: Served | None, ran: float) -> str:
    """What was served, in words; of one that nobody watched only how long it ran."""
    if row is None:
        return f"{hours(ran)}, nobody watched its traffic"
    if not row.requests and not row.hangs:
        return f"{hours(row.seconds)} watched, no request completed{_harm(row)}"
    longest = f", longest {count(row.longest)} tokens" if row.longest else ""
    return f"{hours(row.seconds)}, {counted(row.requests, 'request')}{longest}{_harm(row) or ', no hang'}"


def _harm(row: Served) -> str:
    """``, hung 20:24, 2 services died``."""
    parts = []
    if row.hung:
        parts.append(f"hung {clock(row.hung)}" + (f" and {counted(row.hangs - 1, 'more time')}" * (row.hangs > 1)))
    if row.deaths:
        parts.append(f"{counted(row.deaths, 'service')} died")
    return "".join(f", {part}" for part in parts)


def counted(number: int, what: str) -> str:
    """``1 request``, ``1,204 requests``."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def hours(seconds: float) -> str:
    """``1 h 36 min``, ``48 min``, ``20 s``."""
    minutes = int(seconds // 60)
    if minutes >= 60:
        return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"


def clock(at: dt.datetime) -> str:
    """The time of day here, with the date where that is not today."""
    local = at.astimezone()
    today = dt.datetime.now().astimezone().date()
    return local.strftime("%H:%M" if local.date() == today else "%Y-%m-%d %H:%M")
