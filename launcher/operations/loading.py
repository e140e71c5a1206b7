"""Waits until servers have loaded, and says within two seconds when one of them will not.

A crashed SGLang parent lingers for about 65 s with its port open, and a server whose bootstrap port was taken calls
itself ready. So four things are read side by side: the backend's word, the log, the children, the server's answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from launcher.backends.processes import Proc, Table, look
from launcher.backends.protocol import Backend, Unit
from launcher.errors import PdlaunchError
from launcher.observe.http import Endpoint
from launcher.observe.logs import Failure, Tail
from launcher.observe.running import named_workers
from launcher.operations.events import Event, Report
from launcher.plan import Service
from launcher.render import Layout

INTERVAL = 0.1
"""Seconds between two looks."""
_UNITS_EVERY = 0.3
_CHILDREN_EVERY = 0.5
_SETTLE = 0.4
"""Seconds in which a traceback is written to its last line, which is the one to show."""
_ENDED = frozenset({"exited", "failed", "stopped", "backoff"})


class StartFailedError(PdlaunchError):
    """A service will not come up; `service`, `line` and `cause` say which and why."""

    def __init__(self, service: str, what: str, *, hint: str | None = None) -> None:
        super().__init__(f"{service}  {what}", hint=hint)
        self.service = service


@dataclass(slots=True)
class Loading:
    """One server on its way."""

    service: Service
    tail: Tail
    began: float = field(default_factory=time.monotonic)
    phase: str = "starting"
    loaded: float | None = None
    """Seconds from the start until it was loaded."""
    workers: frozenset[Proc] = frozenset()

    @property
    def endpoint(self) -> Endpoint:
        """Where it answers."""
        return Endpoint(self.service.host, self.service.ports["http"])

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began


class Watch:
    """Looks at starting servers again and again, until something is done or one of them has failed."""

    def __init__(
        self, loadings: list[Loading], backend: Backend, layout: Layout, report: Report, etas: Mapping[str, float]
    ) -> None:
        self.loadings = loadings
        self._backend, self._layout, self._report, self._etas = backend, layout, report, etas
        self._next_units = self._next_children = 0.0
        self._units: Mapping[str, Unit] = {}

    def until_loaded(self, deadline: float) -> None:
        """Return when every server says that it is ready; `deadline` is on the monotonic clock.

        Raises StartFailedError for the first server that died, or that is not ready at the deadline.
        """
        self.until(lambda: all(loading.loaded is not None for loading in self.loadings), deadline)

    def until(self, done: Callable[[], bool], deadline: float) -> None:
        """Return when `done()`; raises StartFailedError as `until_loaded` does."""
        while True:
            self._look()
            if done():
                return
            if time.monotonic() > deadline:
                raise self._late()
            time.sleep(INTERVAL)

    def a_moment_longer(self, seconds: float) -> None:
        """Look on for `seconds`; raises StartFailedError as `until_loaded` does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._look()
            time.sleep(INTERVAL)

    def _look(self) -> None:
        table = None
        if time.monotonic() >= self._next_units:  # asking may take a process: no storm of them
            self._units, self._next_units = self._backend.units(), time.monotonic() + _UNITS_EVERY
        if time.monotonic() >= self._next_children:
            table, self._next_children = look(self._layout.state), time.monotonic() + _CHILDREN_EVERY
        for loading in self.loadings:
            name = loading.service.name
            _look(loading, self._units.get(name), table, self._report, self._etas.get(name))

    def _late(self) -> StartFailedError:
        late = next((x for x in self.loadings if x.loaded is None), None)
        if late is None:
            return StartFailedError("token", "none came back in time", hint="pdlaunch logs")
        return StartFailedError(
            late.service.name,
            f"not ready after {late.elapsed():.0f} s, still at: {late.phase}",
            hint=f"pdlaunch logs {late.service.name}; give it longer with `ready: {{within: …}}`",
        )


def _look(loading: Loading, unit: Unit | None, table: Table | None, report: Report, eta: float | None) -> None:
    name = loading.service.name
    loading.tail.read()
    if loading.tail.failure:
        time.sleep(_SETTLE)
        loading.tail.read()
        raise died(loading, loading.tail.failure, None)
    if unit is None or unit.state in _ENDED:
        time.sleep(_SETTLE)  # what it said last takes a moment through a journal
        loading.tail.read()
        raise died(loading, loading.tail.failure, unit.exit_status if unit else None)
    if table is not None:
        _watch_children(loading, table)
    if loading.loaded is None and ready(loading):
        loading.loaded = loading.elapsed()
        report(Event(name, "loaded", seconds=loading.loaded))
    elif loading.loaded is None:
        phase = loading.tail.phase or loading.phase
        if phase != loading.phase:
            report(Event(name, phase, seconds=loading.elapsed(), eta=_left(loading, eta)))
        loading.phase = phase
        report(Event(name, phase, seconds=loading.elapsed(), eta=_left(loading, eta), passing=True))


def _left(loading: Loading, eta: float | None) -> float | None:
    return max(0.0, eta - loading.elapsed()) if eta else None


def ready(loading: Loading) -> bool:
    """Whether the server says so itself: cheaply, since /health generates a token each time."""
    path = "/liveness" if loading.service.role == "router" else "/ready"
    answer = loading.endpoint.get(path, timeout=1.0)
    if answer.status == 404:  # before /ready existed
        answer = loading.endpoint.get("/health", timeout=5.0)
    return answer.ok


def _watch_children(loading: Loading, table: Table) -> None:
    """A worker process that was there and is gone: its parent will linger for a minute before it says so."""
    procs = table.services.get(loading.service.name, ())
    gone = [worker for worker in loading.workers if not table.holds(worker)]
    if gone and procs:
        loading.tail.read()
        raise died(loading, loading.tail.failure, None, child=gone[0])
    loading.workers |= frozenset(named_workers(procs[1:], table))


def died(loading: Loading, failure: Failure | None, status: int | None, child: Proc | None = None) -> StartFailedError:
    """The error for a server that will not come up, with its first error line and the probable cause."""
    name = loading.service.name
    after = f"after {int(loading.elapsed()) // 60}:{int(loading.elapsed()) % 60:02d}"
    what = f"died {after}"
    if child and not failure:
        what += f": its process {child.pid} ({child.cmdline[0]}) is gone"
    elif status is not None and not failure:
        what += ": it exited with 0 by itself, which a server never should" if status == 0 else f" (exit {status})"
    if failure:
        what += f": {failure.line}" + (f"    log line {failure.number}" if failure.number else "")
        if failure.cause:
            what += f"\n{' ' * (len(name) + 2)}probably: {failure.cause}"
    return StartFailedError(name, what, hint=f"pdlaunch logs {name}")
