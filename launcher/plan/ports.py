"""Every port fixed up front: written ones stay, the others come from blocks of ten above 31000.

The blocks lie outside Linux's ephemeral range and outside the 22000-29999 from which SGLang draws a random NCCL port
(``srt/server_args.py``). With DP attention SGLang opens a further block beside ``--port``; it is kept free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from launcher.errors import InputError

WATCH = "watch"
"""The purpose of the watcher's own metrics, which lie beside the router's."""
FIRST_BLOCK = 31000
BLOCK = 10
OFFSETS = {"http": 0, WATCH: 1, "nccl": 2, "bootstrap": 3}
DP_DELTA = 233
"""SGLang's ZMQ_TCP_PORT_DELTA: with DP attention a server opens --port+233 to +239 (0.5.23, server_args.py:728)."""
DP_PORTS = range(DP_DELTA, DP_DELTA + 7)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one service needs: its purposes, the ports a person wrote, and whether it runs DP attention."""

    service: str
    purposes: tuple[str, ...]
    written: Mapping[str, int]
    dp_attention: bool = False


@dataclass(frozen=True, slots=True)
class Assigned:
    """The ports of one service, and those that the engine opens beside them."""

    ports: Mapping[str, int]
    reserved: tuple[int, ...]


def assign(wanted: Iterable[Wanted], ephemeral: tuple[int, int]) -> dict[str, Assigned]:
    """Ports for each service by name, the same for the same input; raises InputError when the range is used up."""
    services = list(wanted)
    taken = {port for w in services for port in w.written.values()}
    taken |= {port for w in services if "http" in w.written for port in _beside(w, w.written["http"])}
    result: dict[str, Assigned] = {}
    block = FIRST_BLOCK
    for w in services:
        free = [purpose for purpose in w.purposes if purpose not in w.written]
        while free and not _fits(w, free, block, taken):
            block += BLOCK
        if free and block + BLOCK > ephemeral[0] > FIRST_BLOCK:
            raise InputError(
                f"no port left for {w.service} below the ephemeral range ({ephemeral[0]}-{ephemeral[1]})",
                hint="write port:, nccl_port: and bootstrap_port: for some of the servers",
            )
        ports = {p: w.written.get(p, block + OFFSETS.get(p, 0)) for p in w.purposes}
        reserved = _beside(w, ports["http"]) if "http" in ports else ()
        taken |= {*ports.values(), *reserved}
        block += BLOCK if free else 0
        result[w.service] = Assigned(ports, reserved)
    return result


def _beside(w: Wanted, http: int) -> tuple[int, ...]:
    return tuple(http + delta for delta in DP_PORTS) if w.dp_attention else ()


def _fits(w: Wanted, free: list[str], block: int, taken: set[int]) -> bool:
    ports = {block + OFFSETS.get(purpose, 0) for purpose in free}
    beside = set(_beside(w, block)) if "http" in free else set()
    return not (ports | beside) & taken
