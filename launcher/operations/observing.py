"""What the services of a plan say of themselves, redacted before anybody keeps it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from launcher.lock.observed import (
    ObservedService,
    asked,
    decided,
    measured,
    redacted,
    resolved,
    set_by_engine,
    values_of,
)
from launcher.observe.http import Endpoint
from launcher.observe.running import Running
from launcher.plan import Plan, Service
from launcher.render import Layout

_PATIENCE = 2.0
"""Seconds for a server that has just answered a prompt."""


def observe(plan: Plan, servers: Mapping[str, Running], layout: Layout) -> dict[str, ObservedService]:
    """Each service of `plan` that runs, from its own answer and its processes; no key or secret is among it."""
    present = [service for service in plan.services if service.name in servers]
    with ThreadPoolExecutor(max(1, min(16, len(present)))) as pool:
        answers = list(pool.map(_ask, present))
    return {
        service.name: _observed(service, servers[service.name], said, layout)
        for service, said in zip(present, answers, strict=True)
    }


def _ask(service: Service) -> dict[str, Any] | None:
    """What a server says of itself; None where it does not, and for a router."""
    if service.role == "router":
        return None
    said = Endpoint(service.host, service.ports["http"]).get("/server_info", timeout=_PATIENCE).json()
    return said if isinstance(said, dict) else None


def _observed(service: Service, found: Running, said: dict[str, Any] | None, layout: Layout) -> ObservedService:
    names = frozenset(secret.name for secret in service.secrets)
    environments = [_environ(proc.pid) for proc in found.processes]
    told = redacted(said or {}, values_of(environments, names))
    flags = asked(argument.words for argument in service.argv)
    given = {variable.name: layout.value(variable) for variable in service.env}
    return ObservedService(
        pid=found.main.pid,
        started=found.main.started,
        answered=said is not None,
        resolved=resolved(told, flags),
        decided=decided(told, flags),
        measured=measured(told),
        environment=set_by_engine([*environments, *_reported(said or {})], given, names),
    )


def _reported(said: Mapping[str, Any]) -> list[dict[str, str]]:
    """The variables that each scheduler tells with SGLANG_EXPOSE_OWN_ENV_VARS: set after the start, so not in /proc."""
    states = said.get("internal_states")
    told = [state.get("env_vars") for state in states if isinstance(state, dict)] if isinstance(states, list) else []
    return [{name: str(value) for name, value in env.items()} for env in told if isinstance(env, dict)]


def _environ(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty where it is gone or somebody else's."""
    with contextlib.suppress(OSError):
        content = Path(f"/proc/{pid}/environ").read_bytes()
        pairs = (os.fsdecode(entry).partition("=") for entry in content.split(b"\0") if b"=" in entry)
        return {name: value.encode("utf-8", "backslashreplace").decode() for name, _, value in pairs}
    return {}
