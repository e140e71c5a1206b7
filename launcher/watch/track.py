"""What is remembered of a server between looks: when it last got on, and how long it may take by its own example."""

from __future__ import annotations

from dataclasses import dataclass, replace

from launcher.watch.sample import Rank, Server

_HEALTH_CHECK = 8
"""Tokens. A health check is a prompt of one, and several may come between two looks: they prove that the scheduler
turns, not that anybody's request gets on."""
_LEARNED = 2.0
"""A server that was once silent for as long as it takes to build a kernel and then went on gets twice that."""
_MOST = 4.0
"""Times the patience that was asked for: what a server shows may not put the verdict off for ever."""


@dataclass(frozen=True, slots=True)
class Turning:
    """One scheduler, by its own line of ``/v1/loads``."""

    looked: float
    at: float
    """When `looked` last changed, on the clock of the looks."""


@dataclass(frozen=True, slots=True)
class Track:
    """One server since its main process began; times are on the clock of the looks, in seconds."""

    server: Server
    """The last look."""
    began: float
    progress: float
    """When it last got on with its work; the beginning where it never did."""
    tokens: float
    """When it last generated a token, or computed a part of a prompt where that is its role."""
    moved: float
    """When a KV transfer was last done."""
    pending: float | None
    """Since when it has had work without a break."""
    answered: float
    """When it last answered."""
    turning: tuple[Turning, ...] = ()
    longest: float = 0.0
    """The longest time without progress that ended in progress, with work there and nothing held by a signal."""
    held: bool = False
    """Whether a process of it was seen stopped since the last progress."""

    def idle_for(self, now: float) -> float:
        """How long it has had work and not got on with it; 0 without work."""
        return 0.0 if self.pending is None else now - max(self.progress, self.pending)

    def patience(self, asked: float) -> float:
        """How long it may go without progress before it counts as hung."""
        return max(asked, min(self.longest * _LEARNED, asked * _MOST))

    def standing(self, now: float) -> float:
        """How long the scheduler that was heard of longest ago has not looked at its queues; 0 where none says."""
        return max((now - turn.at for turn in self.turning), default=0.0)


def begin(server: Server, now: float) -> Track:
    """A server that is seen for the first time, or whose main process is another one."""
    return Track(
        server=server,
        began=now,
        progress=now,
        tokens=now,
        moved=now,
        pending=now if has_work(server) else None,
        answered=now,
        turning=tuple(Turning(rank.looked, now) for rank in server.ranks),
        held=_held(server),
    )


def follow(track: Track, server: Server, now: float) -> Track:
    """The track with one more look."""
    before = track.server
    if server.pid is not None and server.pid != before.pid:
        return begin(server, now)
    if not server.ready or not before.ready:
        return replace(begin(server, now), longest=track.longest)
    tokens, moved = _tokens(before, server), _moved(before, server)
    got_on = tokens or moved or server.counters.finished > before.counters.finished
    work, held = has_work(server), track.held or _held(server)
    gap = track.idle_for(now)
    return replace(
        track,
        server=server,
        progress=now if got_on else track.progress,
        tokens=now if tokens else track.tokens,
        moved=now if moved else track.moved,
        pending=(track.pending if track.pending is not None else now) if work else None,
        answered=now if server.answer == "yes" else track.answered,
        turning=_turning(track.turning, server.ranks, now),
        longest=max(track.longest, gap) if got_on and not held else track.longest,
        held=held and not got_on,
    )


def has_work(server: Server) -> bool:
    """Whether anybody waits for this server; what it said last counts where it says nothing now."""
    return server.requests > 0 or server.counters.open > 0


def _tokens(before: Server, now: Server) -> bool:
    old, new = before.counters, now.counters
    if new.decoded > old.decoded or new.computed - old.computed > _HEALTH_CHECK:
        return True
    pairs = zip(before.ranks, now.ranks, strict=False)
    return any(b.steps > a.steps or b.prefilled - a.prefilled > _HEALTH_CHECK for a, b in pairs)


def _moved(before: Server, now: Server) -> bool:
    return now.counters.transfers > before.counters.transfers or now.counters.moved_mb > before.counters.moved_mb


def _turning(before: tuple[Turning, ...], ranks: tuple[Rank, ...], now: float) -> tuple[Turning, ...]:
    if len(before) != len(ranks):
        return tuple(Turning(rank.looked, now) for rank in ranks)
    return tuple(
        turn if turn.looked == rank.looked else Turning(rank.looked, now)
        for turn, rank in zip(before, ranks, strict=True)
    )


def _held(server: Server) -> bool:
    body = server.body
    return body is not None and any(process.stopped for process in (body.main, *body.workers))
