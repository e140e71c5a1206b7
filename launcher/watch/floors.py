"""Time-outs that somebody configured, and requests that take exactly as long as one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from launcher.plan import Plan, Service
from launcher.watch.sample import Look, Spread

ENGINE = {
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": 300.0,
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": 300.0,
}
"""Variables of SGLang that end a request, with their defaults in seconds: environ.py:759-763 of 0.5.23."""
ROUTER = {"request-timeout-secs": 1800.0, "queue-timeout-secs": 60.0}
"""Flags of sglang-router 0.3.2 that end a request, with their defaults in seconds."""
_WINDOW = 600.0
"""Seconds over which hits are counted."""
_ENOUGH = 3
"""Requests that took as long as a time-out: one may be chance."""
_ABOVE = 0.02
_SLACK = 3.0
"""A request that a time-out ends takes so much longer at most: a part of it, and seconds."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One time-out of the deployment."""

    service: str
    knob: str
    seconds: float

    def explains(self, took: float) -> bool:
        """Whether a request of `took` seconds ended by this."""
        return self.seconds <= took <= self.seconds * (1 + _ABOVE) + _SLACK

    def alike(self, other: Limit) -> bool:
        """Whether nobody could tell the two apart from outside."""
        return (self.service, self.seconds) == (other.service, other.seconds)


def limits(plan: Plan) -> tuple[Limit, ...]:
    """The time-outs that can end a request, as configured or by default; the longer a service waits the later."""
    found = []
    for service in plan.services:
        if service.role == "router":
            found += [Limit(service.name, flag, _flag(service, flag, usual)) for flag, usual in ROUTER.items()]
        elif service.role in ("prefill", "decode"):
            found += [Limit(service.name, name, _variable(service, name, usual)) for name, usual in ENGINE.items()]
    return tuple(limit for limit in found if limit.seconds > 0)


def _variable(service: Service, name: str, usual: float) -> float:
    return _number(next((v.value for v in service.env if v.name == name), None), usual)


def _flag(service: Service, flag: str, usual: float) -> float:
    words = service.words()
    return _number(words[words.index(f"--{flag}") + 1] if f"--{flag}" in words else None, usual)


def _number(text: str | None, usual: float) -> float:
    try:
        return float(text) if text is not None else usual
    except ValueError:
        return usual


@dataclass(slots=True)
class Floors:
    """Counts requests that took as long as one of `limits`."""

    limits: tuple[Limit, ...]
    hits: dict[Limit, list[tuple[float, float]]] = field(default_factory=dict)
    """Time and number of requests."""

    def take(self, before: Look | None, look: Look, now: float) -> None:
        """Count what ended between two looks: a server's against its own time-outs, the router's against all."""
        if before is None or before.generation != look.generation:
            return
        for name, server in look.servers.items():
            old = before.servers.get(name)
            if old and old.pid == server.pid:
                self._count(now, self._of(name), _between(old.counters.whole, server.counters.whole))
        if look.router and before.router and look.router.body == before.router.body:
            self._count(now, self.limits, _between(before.router.served, look.router.served))

    def _of(self, service: str) -> Iterable[Limit]:
        return [limit for limit in self.limits if limit.service == service]

    def _count(self, now: float, limits: Iterable[Limit], ended: tuple[float, float]) -> None:
        number, took = ended
        for limit in limits if number else ():
            if limit.explains(took):
                self.hits.setdefault(limit, []).append((now, number))

    def reached(self, now: float) -> Mapping[Limit, tuple[int, float]]:
        """The time-outs that requests run into: how many did lately, and since when."""
        found = {}
        for limit, hits in self.hits.items():
            hits[:] = [(at, number) for at, number in hits if now - at < _WINDOW]
            if (total := sum(number for _, number in hits)) >= _ENOUGH:
                found[limit] = (int(total), hits[0][0])
        return found


def _between(before: Spread, now: Spread) -> tuple[float, float]:
    """How many ended, and their mean time: a burst that a time-out ends ends together, so that the mean tells."""
    number = now.count - before.count
    return (number, (now.sum - before.sum) / number) if number > 0 else (0.0, 0.0)
