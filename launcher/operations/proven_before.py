"""How far what a plan would start is proven already: by the generations that started the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from launcher.errors import PdlaunchError
from launcher.operations.counts import count
from launcher.plan import Plan
from launcher.store import Event, Store, service_digests
from launcher.store.served import served

_GENERATIONS = 50
"""How far back is looked."""


@dataclass(frozen=True, slots=True)
class Proven:
    """How far one generation got."""

    generation: int
    probe: int
    """Tokens of the longest prompt of pdlaunch's own that was answered; 0 without any."""
    traffic: int
    """Tokens of the longest context that a client completed, at least; 0 without any."""
    hung: bool

    def __str__(self) -> str:
        """``64k tokens by probe, 187k by traffic (37)``."""
        parts = [f"{count(self.probe)} tokens by probe"] if self.probe else []
        parts += [f"{count(self.traffic)}{'' if parts else ' tokens'} by traffic"] if self.traffic else []
        return f"{', '.join(parts)} ({self.generation}{', which then hung' if self.hung else ''})"


@dataclass(frozen=True, slots=True)
class Known:
    """What is proven of a plan before it starts."""

    whole: Proven | None
    """By a generation that started exactly this."""
    services: Mapping[str, Proven]
    """By a generation that started this service as it is now, for those that stay as they are."""

    def __str__(self) -> str:
        """``nothing yet for this combination; decode-0 unchanged, proven to 187k tokens by traffic (37)``."""
        if self.whole:
            return f"to {self.whole}"
        alike: dict[str, list[str]] = {}
        for name, proven in self.services.items():
            alike.setdefault(str(proven), []).append(name)
        parts = [f"; {', '.join(names)} unchanged, proven to {proven}" for proven, names in alike.items()]
        return f"nothing yet for this combination{''.join(parts)}"


def probed(events: Iterable[Event]) -> dict[int, int]:
    """Tokens of the longest prompt of pdlaunch's own that each generation answered. Pure."""
    found: dict[int, int] = {}
    for event in events:
        tokens = event.details.get("tokens")
        if event.what == "proved" and event.generation is not None and isinstance(tokens, int):
            found[event.generation] = max(tokens, found.get(event.generation, 0))
    return found


def proven_before(store: Store, plan: Plan) -> Known:
    """What is proven of `plan`; a generation that cannot be read proves nothing."""
    wanted = service_digests(plan, plan.engine.snapshot)
    probes, traffic = probed(store.journal.events()), served(store.layout)
    whole: Proven | None = None
    services: dict[str, Proven] = {}
    for generation in store.generations()[-_GENERATIONS:]:
        number, row = generation.number, traffic.get(generation.number)
        proven = Proven(number, probes.get(number, 0), row.longest if row else 0, bool(row and row.hangs))
        try:
            had = generation.seal.services
        except PdlaunchError:
            continue
        if not proven.probe and not proven.traffic:
            continue
        if had == wanted:
            whole = _better(whole, proven)
        for name in wanted:
            if had.get(name) == wanted[name]:
                services[name] = _better(services.get(name), proven)
    return Known(whole, {name: services[name] for name in wanted if name in services and name != "router"})


def _better(one: Proven | None, other: Proven) -> Proven:
    """The one that got further; of two alike the later."""
    if one is None or (other.probe, other.traffic) >= (one.probe, one.traffic):
        return other
    return one if max(one.probe, one.traffic) > max(other.probe, other.traffic) else other
