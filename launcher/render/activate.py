"""The script that brings a generation back where pdlaunch is not installed."""

from __future__ import annotations

from functools import partial
from math import ceil

from launcher.plan.model import Plan, Service
from launcher.render.bundle import RenderedFile
from launcher.render.templates import fill

NAME = "activate"
_TEMPLATES = {"systemd": "activate/systemd.sh.j2", "supervisord": "activate/activate.sh.j2"}


def activate_script(plan: Plan) -> RenderedFile:
    """The script for `plan`; it finds its own place, so that its bytes depend on nothing else."""
    from launcher.render.systemd import lasting, names  # they name this script

    text = fill(
        _TEMPLATES[plan.backend],
        deployment=plan.deployment,
        services=plan.services,
        reachable=_reachable,
        path=_path,
        kill=ceil(plan.stop.kill),
        within=ceil(plan.ready.within),
        target=names.target_unit(plan.deployment),
        ready=names.ready_unit(plan.deployment),
        rejoin=names.rejoin_unit(plan.deployment),
        boot=lasting.boot_unit(plan.deployment),
        returns=lasting.return_timer(plan.deployment),
        unit=partial(names.service_unit, plan.deployment),
    )
    return RenderedFile(text, 0o555)


def _reachable(host: str) -> str:
    """An address to connect to where `host` is one to listen on."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound


def _path(service: Service) -> str:
    return "/readiness" if service.role == "router" else "/ready"
