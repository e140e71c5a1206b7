"""One look at a deployment: what systemd says of each unit, and the processes themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from launcher.backends.cgroups import units_of
from launcher.backends.processes import SUPERVISOR, Proc, Table, look
from launcher.backends.systemd.systemctl import Systemctl
from launcher.render import Layout
from launcher.render.systemd import service_unit

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "Result",
    "NRestarts",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecMainStartTimestampMonotonic",
    "StateChangeTimestampMonotonic",
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What was seen."""

    deployment: str
    table: Table
    infos: Mapping[str, Mapping[str, str]]
    """What systemd says of each service that has a unit."""

    def pid(self, name: str) -> int | None:
        """The main process that systemd gives for `name`."""
        return int(self.infos.get(name, {}).get("MainPID", "0")) or None

    def main(self, name: str) -> Proc | None:
        """The main process of `name`, whoever started it; None where none runs, though remains may."""
        if pid := self.pid(name):
            return self.table.get(pid)
        procs = self.table.services.get(name, ())
        return procs[0] if procs and not self.supervised(procs[0]) else None

    def supervised(self, proc: Proc) -> bool:
        """Whether `proc` runs in its service's unit."""
        return proc.service is not None and service_unit(self.deployment, proc.service) in units_of(proc.pid)

    def strays(self) -> Mapping[str, tuple[Proc, ...]]:
        """The processes of each service that run outside its unit, oldest first."""
        found = {
            name: tuple(p for p in self.table.services[name] if not self.supervised(p)) for name in self.services()
        }
        return {name: procs for name, procs in found.items() if procs}

    def services(self) -> tuple[str, ...]:
        """The services that have a process."""
        return tuple(name for name in self.table.services if name != SUPERVISOR)


def see(layout: Layout, systemctl: Systemctl, installed: Collection[str]) -> Scene:
    """The scene now."""
    table = look(layout.state)
    names = dict.fromkeys((*installed, *(n for n in table.services if n != SUPERVISOR)))
    units = {service_unit(layout.deployment, name): name for name in names}
    infos = systemctl.show(units, PROPERTIES) if systemctl.reachable else {}
    return Scene(layout.deployment, table, {units[name]: info for name, info in infos.items() if _known(info)})


def _known(info: Mapping[str, str]) -> bool:
    """Whether there is such a unit; one whose file was removed may still run."""
    return info.get("LoadState") == "loaded" or info.get("ActiveState", "inactive") != "inactive"
