"""The backend of a plan on this machine."""

from __future__ import annotations

from launcher.backends.protocol import Backend
from launcher.errors import InputError
from launcher.plan import Plan
from launcher.profile import Stop
from launcher.render import Layout


def backend_of(plan: Plan, layout: Layout) -> Backend:
    """Who drives `plan`; raises InputError for a backend that this version does not have."""
    if plan.backend != "supervisord":
        raise InputError(
            f"the {plan.backend} backend is not part of this version",
            hint="pdlaunch up PROFILE --backend supervisord, or write `backend: supervisord`",
        )
    from launcher.backends.supervisord import Supervisord  # brings http and xmlrpc, of which a refusal needs none

    return Supervisord(layout, plan.stop, busy=lambda name: _busy(plan, name))


def without_plan(layout: Layout, limits: Stop) -> Backend:
    """Who can stop what runs of a deployment whose generations cannot be read."""
    from launcher.backends.supervisord import Supervisord

    return Supervisord(layout, limits)


def _busy(plan: Plan, name: str) -> bool:
    """Whether a server still has requests; one that does not answer is taken for busy: it will not end by itself."""
    from launcher.observe.http import Endpoint
    from launcher.observe.loads import load

    service = plan.service(name)
    if service is None or service.role == "router":
        return False
    endpoint = Endpoint(service.host, service.ports["http"])
    if endpoint.get("/ready").refused:
        return False
    found = load(endpoint)
    return found is None or found.busy
