"""What a generation served, look by look: hours, requests, the longest context, hangs, deaths. Pure.

Only differences between two readings of the same process count, and only where nothing of pdlaunch's own happened
between them: its prompts are no traffic, and what it stopped did not die. So figures are never too high; what ended in
the seconds around a start, a crash or an operation is missing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from launcher.store.served import Counted, Record, Seen, Served
from launcher.watch.sample import Body, Look, Server
from launcher.watch.verdict import Verdict

RECENT = 300.0
"""Seconds: agents pause between their rounds, which is traffic all the same."""
_MOST = 10.0
"""Seconds between two looks that count in full: what is longer was no looking."""
_ABORT = 60.0
"""Seconds after an abort in which a finished request may be the aborted one."""
_SERVING = frozenset({"idle", "busy", "degraded"})


@dataclass(frozen=True, slots=True)
class Gained:
    """What one server completed between two readings."""

    seen: Seen
    requests: int = 0
    longest: int = 0


def follow(
    record: Record, look: Look, verdict: Verdict, answering: Collection[str], *, boot: str, stamp: str
) -> Record:
    """The record with one more look.

    `answering` are the servers that answer clients: of a pair the decodes, so that no request counts twice. `boot` is
    this boot's id, and `stamp` changes with each operation that the journal tells of.
    """
    settled = not look.changing and not look.stopped
    quiet = settled and (boot, stamp) == (record.boot, record.stamp)
    services, requests, longest, died = {}, 0, 0, 0
    for name, body in _bodies(look).items():
        before = record.services.get(name)
        died += quiet and before is not None and not _same(before, body)
        if body is None:
            continue
        server = look.servers.get(name) if name in answering else None
        gained = _gained(before if quiet else None, body, server, look.at if settled else None)
        services[name] = gained.seen
        requests, longest = requests + gained.requests, max(longest, gained.longest)
    completed = look.at if requests else record.completed if boot == record.boot else None
    now = record.model_copy(
        update={
            "boot": boot,
            "stamp": stamp,
            "at": look.at,
            "completed": completed,
            "hanging": bool(verdict.hung),
            "services": services,
        }
    )
    if not settled:
        return now
    row = record.generations.get(look.generation) or Served(since=_time(look.time), until=_time(look.time))
    row = _lasted(row, look, verdict, look.at - record.at if quiet else 0.0, completed)
    row = row.model_copy(update={"requests": row.requests + requests, "longest": max(row.longest, longest)})
    row = _harmed(row, verdict, died, new_hang=not record.hanging or not quiet)
    return now.model_copy(update={"generations": {**record.generations, look.generation: row}})


def _bodies(look: Look) -> Mapping[str, Body | None]:
    found = {name: server.body for name, server in look.servers.items()}
    return {**found, "router": look.router.body} if look.router else found


def _same(before: Seen, body: Body | None) -> bool:
    return body is not None and (before.pid, before.started) == (body.main.pid, body.main.started)


def _time(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def _lasted(row: Served, look: Look, verdict: Verdict, elapsed: float, completed: float | None) -> Served:
    """The row with the time since the last look, where that was served."""
    seconds = min(max(elapsed, 0.0), _MOST) if verdict.state in _SERVING else 0.0
    recent = completed is not None and look.at - completed <= RECENT
    working = any(service.standing == "busy" for service in verdict.services.values())
    return row.model_copy(
        update={
            "until": _time(look.time),
            "seconds": row.seconds + seconds,
            "traffic": row.traffic + (seconds if recent or working else 0.0),
        }
    )


def _harmed(row: Served, verdict: Verdict, died: int, *, new_hang: bool) -> Served:
    if died:
        row = row.model_copy(update={"deaths": row.deaths + died, "died": row.died or row.until})
    if verdict.hung and new_hang:
        began = _time(min(finding.since for finding in verdict.hung))
        row = row.model_copy(update={"hangs": row.hangs + 1, "hung": row.hung or began})
    return row


def _gained(before: Seen | None, body: Body, server: Server | None, at: float | None) -> Gained:
    """What was completed since `before`; with `at`, the time of the look, a reading of this look may begin anew."""
    same = before is not None and _same(before, body)
    seen = before if same and before else Seen(pid=body.main.pid, started=body.main.started)
    last = seen.counted
    if server is None or not server.ready or server.counters_at <= (last.at if last else 0.0):
        return Gained(seen)
    now = counted(server)
    if last is None:
        # The first reading after a start or an operation is what later ones are compared with.
        begins = at is not None and server.counters_at >= at
        return Gained(seen.model_copy(update={"counted": now if begins else None}))
    if now.finished < last.finished or now.prompt_tokens < last.prompt_tokens:
        return Gained(seen.model_copy(update={"counted": now}))
    aborted = max(0.0, now.aborted - last.aborted)
    doubts = tuple(d for d in seen.doubts if now.at - d[0] < _ABORT) + (((now.at, aborted),) if aborted else ())
    ended, owed = now.finished - last.finished, seen.owed + aborted
    taken = min(owed, ended)
    following = seen.model_copy(update={"counted": now, "owed": owed - taken, "doubts": doubts})
    return Gained(following, int(ended - taken), longest(last, now, sum(number for _, number in doubts)))


def counted(server: Server) -> Counted:
    """What a server had counted when its metrics were last read."""
    counters = server.counters
    return Counted(
        at=server.counters_at,
        finished=counters.finished,
        aborted=counters.aborted,
        prompt_tokens=counters.prompt_tokens,
        generated_tokens=counters.generated_tokens,
        prompts=dict(counters.prompts),
    )


def longest(before: Counted, now: Counted, doubtful: float = 0.0) -> int:
    """Tokens of the longest context that was completed between two readings of one process, at least.

    The engine tells sums and a histogram of prompt lengths, so that this is exact for a single request, and else a
    bound that holds: the mean, the lower edge of the highest bucket, or what is left of the sum for that bucket when
    all others are as long as theirs allow. `doubtful` of the requests may have been aborted: then only the buckets
    tell, less as many of the longest.
    """
    ended = now.finished - before.finished
    if ended - doubtful < 1:
        return 0
    spread = _spread(before.prompts, now.prompts)
    torn = spread and sum(number for _, _, number in spread) != ended  # the page was read while a request ended
    if doubtful or torn:
        return _edge(spread, doubtful)
    prompts = now.prompt_tokens - before.prompt_tokens
    mean = ceil((prompts + now.generated_tokens - before.generated_tokens) / ended)
    return max(mean, _edge(spread, 0), _rest(spread, prompts))


def _spread(before: Mapping[float, float], now: Mapping[float, float]) -> list[tuple[float, float, float]]:
    """The buckets in which requests ended, longest first: more tokens than, at most as many as, how many requests."""
    grown = [(0.0, 0.0), *((edge, now[edge] - before.get(edge, 0.0)) for edge in sorted(now))]
    parts = [(low, high, total - below) for (low, below), (high, total) in pairwise(grown)]
    return [part for part in reversed(parts) if part[2] > 0]


def _edge(spread: list[tuple[float, float, float]], skipped: float) -> int:
    for low, _, number in spread:
        if number > skipped:
            return int(low) + 1
        skipped -= number
    return 0


def _rest(spread: list[tuple[float, float, float]], prompts: float) -> int:
    if not spread:
        return 0
    (_, _, number), *others = spread
    return max(0, ceil((prompts - sum(high * each for _, high, each in others)) / number))
