"""What `ready.py` and `rejoin.py` of a bundle are told: whom to ask, for how much, for how long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import ceil
from typing import Any

from launcher.plan.model import Plan, Service
from launcher.render.layout import Layout
from launcher.render.systemd import names

KEY = "--api-key"
_ROOM = 12
"""Tokens kept free of the context for the answer and what a template adds, as `up` does."""

_PATIENCE = 60
"""Seconds without a token after which a path counts as broken once a server was started again alone."""


def ready_json(plan: Plan, layout: Layout) -> str:
    """The facts as JSON: one document, so that the scripts are the same everywhere."""
    router = plan.service("router")
    document = {
        "deployment": plan.deployment,
        "state": str(layout.state),
        "prompt": first_prompt(plan),
        "within": ceil(plan.ready.within),
        "patience": _PATIENCE,
        "servers": [_server(plan, service) for service in plan.services if service.role != "router"],
        "router": _server(plan, router) | {"key": _door_key(plan, router)} if router else None,
        "keys": dict(keys(plan)),
    }
    return json.dumps(document, indent=1) + "\n"


def first_prompt(plan: Plan) -> int:
    """Tokens of the prompt that proves a path: two chunks and one or as asked, less where the context is shorter."""
    wanted = plan.ready.prompt or 2 * plan.chunk + 1
    return min(wanted, plan.context - _ROOM) if plan.context else wanted


def keys(plan: Plan) -> Mapping[str, str]:
    """Service to the file of the key that it asks clients for; also the name of the credential."""
    return {s.name: secret.file for s in plan.services for secret in s.secrets if secret.name == KEY}


def _server(plan: Plan, service: Service) -> dict[str, Any]:
    return {
        "name": service.name,
        "unit": names.service_unit(plan.deployment, service.name),
        "role": service.role,
        "host": service.host,
        "port": service.ports["http"],
        "bootstrap": service.ports.get("bootstrap"),
        "key": service.name if service.name in keys(plan) else None,
    }


def _door_key(plan: Plan, router: Service) -> str | None:
    """A router without a key of its own hands the client's on to its workers."""
    found = keys(plan)
    return router.name if router.name in found else next(iter(found), None)
