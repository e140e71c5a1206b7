"""`history`: the generations of a deployment, who made them and why, when each served and how far it was proven."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections import defaultdict
from collections.abc import Sequence

from launcher.errors import PdlaunchError
from launcher.frozen import Frozen
from launcher.operations.evidence import evidence, good, summary
from launcher.operations.timeline import Span, spans
from launcher.store import Event, Store
from launcher.store.names import names_in
from launcher.store.served import Served
from launcher.store.served import served as traffic

SCHEMA = 1


class Row(Frozen):
    """One generation."""

    generation: int
    names: tuple[str, ...]
    written: str
    """ISO 8601."""
    since: str | None
    """When it last began to serve, ISO 8601."""
    by: str
    why: str | None
    current: bool
    served: float | None
    """Seconds that it served in all."""
    verdict: str
    """``serves``, ``served``, ``failed: …``, ``interrupted: …`` or ``never started``."""
    proven: int | None
    """Tokens of the longest prompt of pdlaunch's own that was answered."""
    requests: int | None
    """That clients completed; None, like what follows, where nobody watched."""
    longest: int | None
    """Tokens of the longest context that a client completed, at least."""
    hung: str | None
    """When it first hung, ISO 8601; None where it did not."""
    hangs: int | None
    deaths: int | None
    """Services that ended though nobody stopped them."""
    traffic: float | None
    """Seconds in which clients kept it busy."""
    good: bool
    """Whether it is what `good` means."""


def history(store: Store) -> tuple[Row, ...]:
    """Every generation that is still there, newest first; the journal is read once and no generation is opened."""
    events = store.events()
    there = set(store.numbers())
    current = None
    with contextlib.suppress(PdlaunchError):  # whoever has to mend the pointer looks here for the numbers
        current = store.current()
    now = dt.datetime.now().astimezone()
    served: dict[int, list[Span]] = defaultdict(list)
    for span in spans(events):
        served[span.generation].append(span)
    about: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.generation in there:
            about[event.generation].append(event)
    names: dict[int, list[str]] = defaultdict(list)
    for name, number in names_in(events).items():
        names[number].append(name)
    watched = traffic(store.layout)
    best = good(evidence(events, watched, now).values(), there)
    return tuple(
        _row(
            number,
            about[number],
            served[number],
            watched.get(number),
            now,
            names=tuple(names[number]),
            current=number == current,
            good=best is not None and best.generation == number,
        )
        for number in sorted(there, reverse=True)
    )


class Detail(Frozen):
    """One generation with everything that is known of it."""

    row: Row
    source: str | None
    """The profile or lock that it was made from."""
    engine: str | None
    """Digest of the engine snapshot."""
    services: tuple[str, ...]
    spans: tuple[tuple[str, str | None, str | None], ...]
    """Each stretch in which it served: from, to, ended by."""
    events: tuple[str, ...]
    """What the journal says of it, a line each."""
    damage: tuple[str, ...]
    said: str | None
    """What it served, in words; None for one that never did."""


def detail(store: Store, number: int) -> Detail:
    """Everything known of generation `number`; raises InputError where there is none of that number."""
    generation = store.generation(number)
    row = next(row for row in history(store) if row.generation == number)
    events = store.events()
    stretches = [span for span in spans(events) if span.generation == number]
    return Detail(
        row=row,
        source=generation.about.source,
        engine=generation.seal.engine,
        services=tuple(service.name for service in generation.plan.services),
        spans=tuple((_iso(s.start), _iso(s.end) if s.end else None, s.ended_by) for s in stretches),
        events=tuple(_line(event) for event in events if event.generation == number),
        damage=tuple(store.verify(number)),
        said=summary(traffic(store.layout).get(number), row.served) if row.served is not None else None,
    )


def _iso(at: dt.datetime) -> str:
    return at.isoformat(timespec="seconds")


def _line(event: Event) -> str:
    operation = f"{event.details['operation']} {event.details['outcome']}" if event.what == "finished" else event.what
    why = f": {event.why}" if event.why else ""
    return f"{_iso(event.at)}  {operation}  {event.by}{why}"


def _row(
    number: int,
    events: Sequence[Event],
    serving: Sequence[Span],
    watched: Served | None,
    now: dt.datetime,
    *,
    names: tuple[str, ...],
    current: bool,
    good: bool,
) -> Row:
    committed = next((e for e in events if e.what == "committed"), events[0] if events else None)
    proofs = [e.details.get("tokens") for e in events if e.what == "proved"]
    return Row(
        generation=number,
        names=names,
        written=committed.at.isoformat(timespec="seconds") if committed else "",
        since=serving[-1].start.isoformat(timespec="seconds") if serving else None,
        by=committed.by if committed else "unknown",
        why=committed.why if committed else None,
        current=current,
        served=sum(span.seconds(now) for span in serving) if serving else None,
        verdict=_verdict(events, serving),
        proven=max((t for t in proofs if isinstance(t, int)), default=None),
        requests=watched.requests if watched else None,
        longest=watched.longest if watched else None,
        hung=_iso(watched.hung.astimezone()) if watched and watched.hung else None,
        hangs=watched.hangs if watched else None,
        deaths=watched.deaths if watched else None,
        traffic=watched.traffic if watched else None,
        good=good,
    )


def _verdict(events: Sequence[Event], serving: Sequence[Span]) -> str:
    if serving and serving[-1].end is None:
        return "serves"
    if serving:
        return "served"
    ended = [e for e in events if e.what == "finished"]
    if ended and ended[-1].details.get("outcome") != "done":
        return f"{ended[-1].details.get('outcome')}: {ended[-1].why or 'no reason noted'}".splitlines()[0]
    return "never started"
