"""What supervisord, the run files and the processes themselves say together: the state of each service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launcher.backends.processes import Proc, Table
from launcher.backends.protocol import Unit, UnitState
from launcher.backends.supervisord import daemon
from launcher.backends.supervisord.runs import Run
from launcher.render import Layout

_STATES: Mapping[str, UnitState] = {
    "STOPPED": "stopped",
    "STARTING": "starting",
    "RUNNING": "running",
    "BACKOFF": "backoff",
    "STOPPING": "stopping",
    "EXITED": "exited",
    "FATAL": "failed",
}


@dataclass(frozen=True, slots=True)
class Scene:
    """One look at a deployment."""

    table: Table
    daemon: int | None
    """The daemon's pid, None where none runs."""
    infos: Mapping[str, Mapping[str, Any]]
    """What the daemon says of each service that it holds."""
    runs: Mapping[str, Run]
    """What is wanted."""

    def main(self, name: str) -> Proc | None:
        """The main process of `name`, whoever started it; None where it does not run, though remains of it may."""
        if (info := self.infos.get(name)) and info["pid"]:
            return self.table.get(info["pid"])
        strays = self.strays(name)
        run = self.runs.get(name)
        if run is None or run.pid is None:
            return strays[0] if strays else None
        return next((p for p in strays if p.pid == run.pid), None)

    def strays(self, name: str) -> tuple[Proc, ...]:
        """The processes of `name` that the daemon does not supervise, oldest first.

        Beside a supervised main process only what is older or has its very command counts: a child that took
        another parent is no stray.
        """
        info = self.infos.get(name)
        main = self.table.get(info["pid"]) if info else None
        out = tuple(p for p in self.table.services.get(name, ()) if not self._supervised(p))
        if main is None:
            return out
        roots = [p for p in out if p.started < main.started or p.cmdline == main.cmdline]
        return tuple(p for p in out if any(self.table.below(p, root.pid) for root in roots))

    def every(self) -> tuple[Proc, ...]:
        """All strays, oldest first."""
        names = [name for name in self.table.services if name != daemon.NAME]
        return tuple(sorted((p for name in names for p in self.strays(name)), key=lambda p: (p.started, p.pid)))

    def unit(self, name: str, layout: Layout) -> Unit:
        """The state of `name`."""
        run, info, main = self.runs.get(name), self.infos.get(name), self.main(name)
        state, since, status = _state(info, wanted=run is not None)
        supervised = bool(info and info["pid"])
        if main is not None and not supervised:
            state, since, status = "running", main.created, None
        return Unit(
            name=name,
            state=state,
            pid=main.pid if main is not None else None,
            since=since,
            exit_status=status,
            restarts=run.restarts if run else 0,
            log=layout.log(name),
            wanted=run is not None,
            supervised=supervised or main is None,
        )

    def _supervised(self, proc: Proc) -> bool:
        return self.daemon is not None and self.table.below(proc, self.daemon)


def _state(info: Mapping[str, Any] | None, *, wanted: bool) -> tuple[UnitState, float | None, int | None]:
    if info is None:
        return ("exited" if wanted else "stopped"), None, None
    state = _STATES.get(info["statename"], "unknown")
    ended = state in ("stopped", "exited", "failed")
    since = info["stop"] if ended else info["start"]
    return state, float(since) if since else None, info["exitstatus"] if state == "exited" else None
