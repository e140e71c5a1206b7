"""One look at a deployment: what supervisord says, what is wanted, and the processes themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from launcher.backends.processes import Proc, Table, look
from launcher.backends.supervisord import daemon, runs
from launcher.backends.supervisord.client import Client, EndingError, NotRunningError
from launcher.render import Layout
from launcher.render.supervisord import WATCH

LISTENER = "restarts"
"""The event listener, no service."""
OWN = (LISTENER, WATCH)
"""What the daemon runs beside the services: it comes and goes with the daemon."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What was seen."""

    table: Table
    daemon: int | None
    """The daemon's pid, None where none runs."""
    infos: Mapping[str, Mapping[str, Any]]
    """What the daemon says of each service that it holds; nothing once it was told to end."""
    runs: Mapping[str, runs.Run]
    """What is wanted."""

    def main(self, name: str) -> Proc | None:
        """The main process of `name`, whoever started it; None where it does not run, though remains of it may."""
        if pid := self.pid(name):
            return self.table.get(pid)
        procs = self.table.services.get(name, ())
        run = self.runs.get(name)
        if run is None or run.pid is None:
            return procs[0] if procs else None
        return next((p for p in procs if p.pid == run.pid), None)

    def pid(self, name: str) -> int | None:
        """The pid that the daemon gives for `name`."""
        return (self.infos.get(name) or {}).get("pid") or None

    def strays(self, name: str) -> tuple[Proc, ...]:
        """The processes of `name` that the daemon does not supervise, oldest first.

        Beside a supervised main process only what is older or has its very command counts: a child that took
        another parent is no stray.
        """
        out = tuple(p for p in self.table.services.get(name, ()) if not self.supervised(p))
        pid = self.pid(name)
        if pid is None or (main := self.table.get(pid)) is None:
            return out
        roots = [p for p in out if p.started < main.started or p.cmdline == main.cmdline]
        return tuple(p for p in out if any(self.table.below(p, root.pid) for root in roots))

    def every_stray(self) -> Mapping[str, tuple[Proc, ...]]:
        """The strays of each service that has some."""
        return {name: strays for name in self.services() if (strays := self.strays(name))}

    def services(self) -> tuple[str, ...]:
        """The services that the daemon holds or that have a process."""
        return tuple(dict.fromkeys((*self.infos, *(n for n in self.table.services if n != daemon.NAME))))

    def supervised(self, proc: Proc) -> bool:
        """Whether the daemon is above `proc`."""
        return self.daemon is not None and self.table.below(proc, self.daemon)


def see(layout: Layout, client: Client, installed: Iterable[str]) -> Scene:
    """The scene now."""
    infos = known(client)
    pid = daemon.find(layout, client)
    table = look(layout.state)
    names = {*installed, *infos, *table.services}
    wanted = {name: run for name in names if (run := runs.read(layout, name)) is not None}
    return Scene(table, pid, infos, wanted)


def known(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """What the daemon says of each service; nothing where it does not run or was told to end."""
    try:
        answer = client("getAllProcessInfo")
    except (NotRunningError, EndingError):
        return {}
    return {info["name"]: info for info in answer if info["name"] not in OWN}
