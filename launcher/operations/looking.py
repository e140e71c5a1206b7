"""One look at a deployment: its processes, what its servers say, what its router says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from launcher.observe.many import Line, Said, ask
from launcher.operations.bodies import Bodies
from launcher.plan import Plan, Service
from launcher.store import Store, writing
from launcher.watch import Body, Look, Router, Server
from launcher.watch.reading import counters, front, ranks
from launcher.watch.sample import Answer
from launcher.watch.track import has_work

_TIMEOUT = 1.5
"""Seconds for all answers of one round together."""
_LOADS = "/v1/loads?include=core,disagg,queues"
_SELDOM = 10.0
"""Seconds between two readings of an idle server's metrics: a page of them costs the server 20 ms [measured]."""
_ALL = 10.0
"""Seconds between two looks at all processes of the machine."""


class Looker:
    """Looks at one generation of a deployment again and again."""

    def __init__(self, store: Store, number: int) -> None:
        self.generation = number
        self.plan: Plan = store.generation(number).plan
        self._store = store
        self._bodies = Bodies(store.layout.state)
        self._all_at = 0.0
        self._servers: dict[str, Server] = {}
        self._lines = {service.name: _line(service) for service in self.plan.services}
        self._router: Router | None = None

    def bodies(self, *, closely: bool = False) -> Mapping[str, Body]:
        """The processes at this moment; with `closely` newcomers and compilers are looked for as well."""
        if closely or time.monotonic() >= self._all_at:
            self._bodies.look_at_all()
            self._all_at = time.monotonic() + _ALL
        return self._bodies.now()

    def close(self) -> None:
        """Hang up on everybody."""
        for line in self._lines.values():
            line.close()

    def look(self, bodies: Mapping[str, Body]) -> Look:
        """Ask everybody, within about three seconds whatever they do."""
        at = time.monotonic()
        asked = {s.name: (self._lines[s.name], self._path(s, bodies)) for s in self.plan.services if s.name in bodies}
        said = ask(asked, _TIMEOUT)
        servers = {
            s.name: self._server(s.name, bodies.get(s.name), said.get(s.name), at)
            for s in self.plan.services
            if s.role != "router"
        }
        pages = ask({name: (self._lines[name], "/metrics") for name in servers if self._due(servers[name])}, _TIMEOUT)
        for name, page in pages.items():
            if page.status == 200:
                servers[name] = replace(servers[name], counters=counters(page.body), counters_at=at)
            elif page.status == 0:
                servers[name] = replace(servers[name], answer="silent")
        self._servers = servers
        return Look(
            at=at,
            time=time.time(),
            generation=self.generation,
            servers=servers,
            router=self._front(bodies.get("router"), said.get("router"), at),
            changing=self.changing(),
            stopped=not bodies and self._taken_down(),
        )

    def changing(self) -> str | None:
        """Who is changing the deployment now, in words."""
        note = writing(self._store.layout)
        return str(note) if note else None

    def _taken_down(self) -> bool:
        """Whether the last thing that was done was a `down`: what was stopped is not missed."""
        last = next((e for e in reversed(self._store.journal.events()) if e.what == "finished"), None)
        return last is not None and last.details.get("operation") == "down"

    def _path(self, service: Service, bodies: Mapping[str, Body]) -> str:
        if service.role == "router":
            return "/metrics"
        known = self._servers.get(service.name)
        same = known is not None and known.ready and known.pid == bodies[service.name].main.pid
        return _LOADS if same else "/ready"

    def _server(self, name: str, body: Body | None, said: Said | None, at: float) -> Server:
        before = self._servers.get(name)
        if body is None or said is None:
            return Server(at, None)
        if before is None or before.pid != body.main.pid:
            before = Server(at, body, ready=False)
        answer = _answer(said)
        now = replace(before, at=at, body=body, answer=answer)
        if not before.ready:
            # Before /ready existed nobody said it; who answers at all then has loaded.
            return replace(now, ready=said.status in (200, 404))
        found = ranks(said.body) if said.status == 200 else ()
        return replace(now, ranks=found, ranks_at=at) if found else now

    def _due(self, server: Server) -> bool:
        """Whether to read a server's metrics in this look: while it has work, and now and then."""
        if server.body is None or not server.ready or server.answer != "yes":
            return False
        return has_work(server) or server.at - server.counters_at >= _SELDOM

    def _front(self, body: Body | None, said: Said | None, at: float) -> Router | None:
        if self.plan.service("router") is None:
            return None
        if body is None or said is None:
            return Router(at)
        answer = _answer(said)
        found = front(said.body) if said.status == 200 else None
        if found:
            self._router = Router(at, body, answer, found.workers, found.served, found.refused)
        elif self._router is not None and self._router.body and self._router.body.main == body.main:
            self._router = replace(self._router, at=at, body=body, answer=answer)
        else:
            self._router = Router(at, body, answer)
        return self._router


def _line(service: Service) -> Line:
    port = service.ports.get("metrics") if service.role == "router" else None
    return Line(service.host, port or service.ports["http"])


def _answer(said: Said) -> Answer:
    return "yes" if said.status else "refused" if said.refused else "silent"
