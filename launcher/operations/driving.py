"""The backend of a plan on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from launcher.backends.protocol import Backend
from launcher.plan import Plan
from launcher.plan.model import BackendName
from launcher.profile import Stop
from launcher.render import Layout

if TYPE_CHECKING:
    from launcher.render.systemd import Command


def backend_of(plan: Plan, layout: Layout) -> Backend:
    """Who drives `plan`."""
    return _backend(plan.backend, plan, layout, plan.stop)


def stop_others(plan: Plan, layout: Layout, limits: Stop, *, drain: bool) -> tuple[str, ...]:
    """Have the backends beside the plan's own stop what they still run of the deployment, and end; what that was.

    A deployment that is moved from one to the other leaves them behind, and they would start it again.
    """
    stopped: list[str] = []
    for name in get_args(BackendName):
        other = _backend(name, plan, layout, limits)
        if name == plan.backend or not other.alive():
            continue
        theirs = [unit.name for unit in other.units().values() if unit.supervised and unit.wanted]
        other.stop(theirs, drain=drain)
        other.close()
        stopped += theirs
    return tuple(stopped)


def settle_boot(plan: Plan | None, layout: Layout, generation: Path | None) -> None:
    """Have a boot of the machine bring back `generation` of `plan`, by its own backend alone; None: nothing."""
    for name in get_args(BackendName):
        backend = _backend(name, plan, layout, Stop())
        backend.at_boot(generation if plan and name == plan.backend else None)


def tell(plan: Plan | None, layout: Layout, text: str, *, bad: bool = False) -> None:
    """Put a line into the log that the services of `plan` share, where they share one."""
    if plan is not None:
        backend_of(plan, layout).tell(text, bad=bad)


def boots(layout: Layout) -> int | None:
    """The generation that a boot of the machine brings back; None for none."""
    from launcher.backends.systemd.boot import at_boot
    from launcher.backends.systemd.systemctl import manager

    return at_boot(manager(), layout)


def forget_installed(layout: Layout) -> None:
    """Have every backend remove what it put outside of the deployment's folder."""
    for name in get_args(BackendName):
        _backend(name, None, layout, Stop()).forget()


def without_plan(layout: Layout, limits: Stop) -> Backend:
    """Who can stop what runs of a deployment whose generations cannot be read."""
    systemd = _backend("systemd", None, layout, limits)
    if any(unit.supervised and unit.wanted for unit in systemd.units().values()):
        return systemd
    return _backend("supervisord", None, layout, limits)


def _backend(name: BackendName, plan: Plan | None, layout: Layout, limits: Stop) -> Backend:
    def busy(service: str) -> bool:
        return plan is not None and _busy(plan, service)

    if name == "systemd":
        from launcher.backends.systemd import Systemd
        from launcher.observe.numa import card_nodes

        return Systemd(layout, limits, busy if plan else None, command=command(), nodes=card_nodes)
    from launcher.backends.supervisord import Supervisord  # brings http and xmlrpc, of which a refusal needs none

    return Supervisord(layout, limits, busy if plan else None, _watch(plan, layout))


def _watch(plan: Plan | None, layout: Layout) -> tuple[str, ...] | None:
    """How a supervisor of ours calls the watcher; it gives its children no environment of a person's."""
    called = command()
    if plan is None or plan.watch.on_hang == "none" or called is None:
        return None
    told = (f"{name}={value}" for name, value in sorted(called.environment.items()))
    return "/usr/bin/env", *told, str(called.path), "watch", "-d", layout.deployment


def command() -> Command | None:
    """How a unit calls this very pdlaunch, with the folders that it was told."""
    from launcher.render.systemd import Command

    path = Path(sys.executable).with_name("pdlaunch")
    told = {name: value for name, value in os.environ.items() if name.startswith("PDLAUNCH_") and name.endswith("_DIR")}
    return Command(path, told) if path.exists() else None


def _busy(plan: Plan, name: str) -> bool:
    """Whether a server still has requests; one that does not answer is taken for busy: it will not end by itself."""
    service = plan.service(name)
    if service is None or service.role == "router":
        return False
    from launcher.observe.http import Endpoint  # to say who drives a plan asks no server
    from launcher.observe.loads import load

    endpoint = Endpoint(service.host, service.ports["http"])
    if endpoint.get("/ready").refused:
        return False
    found = load(endpoint)
    return found is None or found.busy
