"""Ready means tokens: on every prefill×decode edge, then through the router, then up the ladder if one is asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import PdlaunchError, ProbeFailedError
from launcher.observe.http import Endpoint
from launcher.operations.counts import count
from launcher.operations.events import Event, Report
from launcher.operations.loading import INTERVAL, StartFailedError
from launcher.plan import Plan, Service
from launcher.probe.ladder import parse, rungs
from launcher.probe.prompt import first_length
from launcher.probe.tokens import NEW_TOKENS, Proof, Server, ask, ask_edges

KEY = "--api-key"
"""The flag by which SGLang asks clients for a key; without it the first prompt is answered with 401."""
_PATIENCE = 30.0
"""Seconds that a rung of the ladder gets at least, before it counts as hung: more in proportion to its length."""
_SLOWER = 10.0
"""Times that a rung may take what the one before took, in proportion: attention grows faster than the prompt."""
_SHUT_OUT = 150.0
"""Seconds that a router gets to let servers in again that it had shut out."""
_CIRCUIT = "circuits open"
_ROOM = NEW_TOKENS + 8
"""Tokens kept free of the context for the answer and what a template adds."""


@dataclass(frozen=True, slots=True)
class Proven:
    """How far a generation is proven."""

    tokens: int
    """Longest prompt that was answered through the deployment's own door."""
    edges: int
    context: int | None

    def __str__(self) -> str:
        """``proven to 64k of 262k tokens``."""
        return (
            f"proven to {count(self.tokens)} of {count(self.context)} tokens"
            if self.context
            else (f"proven to {count(self.tokens)} tokens")
        )


def prove(plan: Plan, deadline: float, report: Report) -> Proven:
    """Ask for tokens as `ready` says; `deadline` is on the monotonic clock.

    Raises StartFailedError where no token comes back, and ProbeFailedError where the ladder breaks.
    """
    length = first_length(plan.chunk, plan.context, plan.ready.prompt, _ROOM)
    servers = [_server(s) for s in plan.services if s.role != "router"]
    by_role = {
        role: [_server(s) for s in plan.services if s.role == role] for role in ("prefill", "decode", "aggregated")
    }
    edges = ask_edges(by_role["prefill"], by_role["decode"], length, _left(deadline))
    edges += tuple(ask(server, server.name, length, _left(deadline)) for server in by_role["aggregated"])
    for proof in edges:
        _judge(proof, report)
    door = _door(plan)
    if door:
        _wait_router(door, deadline)
        _judge(_through(door, length, deadline, report), report)
    longest = _climb(plan, door or servers[0], length, deadline, report)
    return Proven(longest, len(edges), plan.context)


def _climb(plan: Plan, door: Server, length: int, deadline: float, report: Report) -> int:
    top = parse(plan.ready.probe)
    longest = length
    patience = _PATIENCE
    for rung in rungs(top, plan.context, _ROOM) if top else ():
        if rung <= length:
            continue
        proof = ask(door, f"ladder {count(rung)}", rung, min(patience * rung / longest, _left(deadline)))
        if proof.failure:
            raise ProbeFailedError(
                f"probe  ladder broke at {count(rung)} tokens: {proof.failure}. Proven to {count(longest)}",
                hint="pdlaunch logs; a knob whose effect depends on context length is the usual cause",
            )
        report(Event("probe", f"ladder {count(rung)} ok", seconds=proof.seconds))
        longest, patience = rung, max(_PATIENCE, _SLOWER * proof.seconds)
    return longest


def _judge(proof: Proof, report: Report) -> None:
    if proof.failure:
        raise StartFailedError("token", f"{proof.path}: {proof.failure}", hint="pdlaunch logs")
    note = f", {proof.cached:,} of them from a cache" if proof.cached else ""
    report(Event("token", f"{proof.prompt:,} in{note}, {NEW_TOKENS} out, {proof.path}", seconds=proof.seconds))


def _wait_router(router: Server, deadline: float) -> None:
    """The router learns of its workers by itself, within a second or so."""
    while not router.endpoint.get("/readiness", timeout=2.0).ok:
        if time.monotonic() > deadline:
            raise StartFailedError("router", "it found no healthy workers in time", hint="pdlaunch logs router")
        time.sleep(INTERVAL)


def _through(router: Server, length: int, deadline: float, report: Report) -> Proof:
    """Ask the router; one that shut its servers out while they were away refuses them for a minute, though they serve.

    cb-timeout-duration-secs of sglang-router 0.3.2 is 60; clients that ask meanwhile are what opens its circuits.
    """
    until = min(deadline, time.monotonic() + _SHUT_OUT)
    while True:
        proof = ask(router, "through the router", length, _left(deadline))
        if not proof.failure or _CIRCUIT not in proof.failure or time.monotonic() > until:
            return proof
        report(Event("router", "its circuits are still open from when the servers were away", passing=True))
        time.sleep(1.0)


def _door(plan: Plan) -> Server | None:
    router = plan.service("router")
    if router is None:
        return None
    # A router without a key of its own hands the client's on to its workers.
    key = next(filter(None, map(key_of, (router, *plan.services))), None)
    return Server(router.name, Endpoint(router.host, router.ports["http"], key))


def _server(service: Service) -> Server:
    endpoint = Endpoint(service.host, service.ports["http"], key_of(service))
    return Server(service.name, endpoint, service.ports.get("bootstrap"))


def key_of(service: Service) -> str | None:
    """What `service` asks clients for, from the file that its command reads it from; None where it asks for nothing.

    Raises PdlaunchError for a file that cannot be read.
    """
    file = next((secret.file for secret in service.secrets if secret.name == KEY), None)
    try:
        return Path(file).read_text(encoding="utf-8").rstrip("\n") if file else None
    except OSError as error:
        raise PdlaunchError(f"cannot read the key of {service.name}: {file}: {error.strerror}") from error


def _left(deadline: float) -> float:
    return max(1.0, deadline - time.monotonic())
