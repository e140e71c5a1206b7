"""Ports: free before the start, held by the right process after it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping

from launcher.errors import PdlaunchError
from launcher.observe.http import Endpoint
from launcher.observe.running import Running
from launcher.observe.sockets import Listener, listeners
from launcher.operations.loading import StartFailedError
from launcher.plan import Plan, Service

_ROUTE = "/route?prefill_dp_rank=-1&prefill_cp_rank=-1&target_tp_rank=-1&target_pp_rank=-1"
_MUST_LISTEN = {"http", "bootstrap", "metrics"}


def require_free(services: Collection[Service], ours: Collection[int]) -> None:
    """Raise PdlaunchError naming every port of `services` that a process outside `ours` (pids) listens on."""
    found = taken(services, ours)
    if found:
        pid = next((pid for pid, _ in found if pid), None)
        raise PdlaunchError(
            "\n".join(line for _, line in found),
            hint=f"end that process (see: ps -fp {pid}), or write another port in the profile" if pid else None,
        )


def taken(services: Collection[Service], ours: Collection[int]) -> list[tuple[int | None, str]]:
    """Every port of `services` that a process outside `ours` listens on: its pid and a line that says so."""
    wanted = {port: (s.name, use) for s in services for use, port in s.ports.items()}
    wanted |= {port: (s.name, "beside its own") for s in services for port in s.reserved if port not in wanted}
    found = [held for held in listeners(wanted).values() if held.pid is None or held.pid not in ours]
    return [(held.pid, _words(held, *wanted[held.port])) for held in sorted(found, key=lambda h: h.port)]


def _words(held: Listener, service: str, use: str) -> str:
    who = f"pid {held.pid} ({held.command}){_whose(held.pid)}" if held.pid else held.command
    return f"port {held.port}, {service}'s {use} port, is taken by {who}"


def _whose(pid: int) -> str:
    """``, of anna since 2026-12-01 05:18``; empty for a process that has just ended."""
    import psutil  # only who is refused waits for it

    try:
        process = psutil.Process(pid)
        since = dt.datetime.fromtimestamp(process.create_time(), dt.UTC).astimezone()
        return f", of {process.username()} since {since:%Y-%m-%d %H:%M}"
    except psutil.Error:
        return ""


def verify_owners(plan: Plan, now: Mapping[str, Running]) -> None:
    """Raise StartFailedError where a port is not held by its own service, or a bootstrap server serves another prefill.

    SGLang logs a taken bootstrap port and calls itself ready all the same.
    """
    held = listeners({port for service in plan.services for port in service.ports.values()})
    for service in plan.services:
        pids = {proc.pid for proc in now[service.name].processes} if service.name in now else set()
        for use, port in service.ports.items():
            listener = held.get(port)
            if listener is None and use in _MUST_LISTEN:
                raise StartFailedError(service.name, f"nobody listens on its {use} port {port}")
            if listener and listener.pid not in pids:
                raise StartFailedError(service.name, f"its {use} port {port} is held by another: pid {listener.pid}")
        if service.role == "prefill":
            _verify_route(service)


def _verify_route(service: Service) -> None:
    answer = Endpoint(service.host, service.ports["bootstrap"]).get(_ROUTE, timeout=5.0)
    body = answer.json()
    if not answer.ok or not isinstance(body, dict):
        raise StartFailedError(
            service.name,
            f"its bootstrap server on port {service.ports['bootstrap']} answers {answer.status or 'nothing'}",
        )
    if body.get("prefill_http_port") not in (None, service.ports["http"]):
        raise StartFailedError(
            service.name,
            f"the bootstrap server on its port {service.ports['bootstrap']} belongs to the prefill on port "
            f"{body['prefill_http_port']}, not to the one on {service.ports['http']}",
        )
