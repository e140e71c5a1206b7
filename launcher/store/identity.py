"""What makes two generations the same: digests over what starts, and over nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from launcher.plan.model import Plan, Service


def service_digests(plan: Plan, snapshot: str | None) -> dict[str, str]:
    """Digest by service: a service restarts when its digest differs, and only then.

    Covers the service's identity and, for all but the router, the engine snapshot that it runs.
    """
    return {service.name: _digest(_service(service, snapshot)) for service in plan.services}


def plan_digest(plan: Plan, snapshot: str | None) -> str:
    """Digest over the whole deployment: equal when `up` has nothing to do.

    Leaves out where values came from, remarks, and the place of a checkout whose content the snapshot already names.
    """
    document = plan.model_dump(mode="json", exclude={"services": True, "notes": True, "engine": {"source", "snapshot"}})
    services = [_service(service, snapshot) for service in plan.services]
    return _digest({**document, "services": services})


def canonical(document: Any) -> str:
    """The one JSON text of a document: sorted keys, one value a line, a newline at the end."""
    return json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def _service(service: Service, snapshot: str | None) -> Mapping[str, Any]:
    runs = None if service.role == "router" else snapshot
    return {"name": service.name, "role": service.role, "engine": runs, **service.identity()}


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(document).encode(errors="surrogateescape")).hexdigest()
