"""The script that brings a generation back where pdlaunch is not installed."""

from __future__ import annotations

from math import ceil

from launcher.plan.model import Plan, Service
from launcher.render.bundle import RenderedFile
from launcher.render.templates import fill

NAME = "activate"


def activate_script(plan: Plan) -> RenderedFile:
    """The script for `plan`; it finds its own place, so that its bytes depend on nothing else."""
    text = fill(
        "activate/activate.sh.j2",
        deployment=plan.deployment,
        services=plan.services,
        reachable=_reachable,
        path=_path,
        kill=ceil(plan.stop.kill),
        within=ceil(plan.ready.within),
    )
    return RenderedFile(text, 0o555)


def _reachable(host: str) -> str:
    """An address to connect to where `host` is one to listen on."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound


def _path(service: Service) -> str:
    return "/readiness" if service.role == "router" else "/ready"
