"""From look to look to a verdict: remembers what it must and forgets the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from launcher.plan import Plan
from launcher.watch.floors import Floors, limits
from launcher.watch.leftovers import Leftovers
from launcher.watch.sample import Look, Server
from launcher.watch.scene import Member, Scene
from launcher.watch.signatures import findings
from launcher.watch.track import Track, begin, follow, has_work
from launcher.watch.verdict import Finding, Service, Standing, State, Verdict

INTERVAL = 2.0
"""Seconds between two looks."""
PATIENCE = 10.0
"""Seconds without progress after which a server with work counts as hung."""
_GAP = 1.5
"""Times the interval: what is longer was no looking, since the machine slept or had no time for us."""


class Judge:
    """Judges the looks at one generation, in their order; the next generation gets another one.

    `patience` is how long a server with work may go without progress, in seconds.
    """

    def __init__(self, plan: Plan, *, patience: float = PATIENCE, interval: float = INTERVAL) -> None:
        self._members = {s.name: _member(s.name, s.role, s.host, s.ports["http"]) for s in plan.services}
        self._members.pop("router", None)
        self._patience, self._interval = patience, interval
        self._floors = Floors(limits(plan))
        self._leftovers = Leftovers({s.name: s.role for s in plan.services})
        self._tracks: Mapping[str, Track] = {}
        self._last: Look | None = None
        self._now = 0.0
        self._since: dict[tuple[str, str], float] = {}

    def take(self, look: Look) -> Verdict:
        """The verdict on one more look."""
        self._now += min(look.at - self._last.at, self._interval * _GAP) if self._last else 0.0
        if look.changing or look.stopped:
            self._forget(look)
            state: State = "changing" if look.changing else "stopped"
            return Verdict(look.time, look.generation, state, {})
        self._tracks = {name: self._followed(name, server) for name, server in look.servers.items()}
        self._floors.take(self._last, look, self._now)
        self._last = look
        left = self._leftovers.take(look.servers)
        scene = Scene(look, self._now, self._members, self._tracks, self._patience, self._floors, left)
        found = self._dated(findings(scene))
        services = {name: self._service(name, scene, found) for name in self._members}
        return Verdict(look.time, look.generation, _state(services.values(), found), services, found)

    def _forget(self, look: Look) -> None:
        """Servers that somebody stops and starts have no past that could be held against them."""
        self._tracks, self._since, self._last = {}, {}, replace(look, servers={}, router=None)

    def _followed(self, name: str, server: Server) -> Track:
        track = self._tracks.get(name)
        return follow(track, server, self._now) if track else begin(server, self._now)

    def _dated(self, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """The same with the beginning that they had when they were first found."""
        self._since = {f.key: self._since.get(f.key, f.since) for f in found}
        return tuple(replace(f, since=self._since[f.key]) for f in found)

    def _service(self, name: str, scene: Scene, found: Iterable[Finding]) -> Service:
        server, track = scene.look.servers.get(name), self._tracks.get(name)
        if server is None or track is None:
            return Service(name, "dead", 0, None)
        seen = track.progress > track.began
        return Service(
            name=name,
            standing=_standing(server, track, [f.weight for f in found if f.service == name], self._now),
            requests=max(server.requests, int(server.counters.open)),
            progress=scene.look.time - (self._now - track.tokens) if seen else None,
            words=f"compiling ({server.body.compiling})" if server.body and server.body.compiling else "",
        )


def _member(name: str, role: str, host: str, port: int) -> Member:
    return Member(name, role, f"http://{host}:{port}")


def _standing(server: Server, track: Track, weights: list[str], now: float) -> Standing:
    if server.body is None or "dead" in weights:
        return "dead"
    if not server.ready:
        return "loading"
    if "hung" in weights:
        return "hung"
    if not has_work(server):
        return "idle" if server.answer == "yes" else "silent"
    return "busy" if track.idle_for(now) < INTERVAL * 2 else "waiting"


def _state(services: Iterable[Service], found: tuple[Finding, ...]) -> State:
    standings = {service.standing for service in services}
    weights = {finding.weight for finding in found}
    if "hung" in weights:
        return "hung"
    if "dead" in weights:
        return "dead"
    if "loading" in standings:
        return "loading"
    if found:
        return "degraded"
    return "busy" if standings & {"busy", "waiting"} else "idle"
