"""A real transfer between two processes: NIXL with a deployment's own variables, from prefill's memory to decode's."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Literal

from launcher.observe.transfer_ends import End, EndFailedError, Process
from launcher.observe.ucx_log import complaints, lane

__all__ = ["SIZE", "End", "TransferFailed", "Transferred", "transfer"]

SIZE = 32 * 1024 * 1024
"""Bytes of one write: some thousand tokens of KV cache."""
TIMES = 4
_PATIENCE = 60.0
"""Seconds for all of it; torch alone takes some of them where the memory is a card's."""


@dataclass(frozen=True, slots=True)
class Transferred:
    """What was measured."""

    source: str
    target: str
    """Services."""
    memory: Literal["DRAM", "VRAM"]
    size: int
    """Bytes of one write."""
    times: tuple[float, ...]
    """Seconds of each write; the first meets the other end and is slower."""
    lane: str | None
    """What UCX really used: ``tcp/lo``, ``cuda_ipc/cuda``; None where it did not say."""
    how: str | None
    """``zero-copy``."""

    @property
    def rate(self) -> float:
        """Bytes a second of the fastest write: what else this machine does just now is not the transport's fault."""
        return self.size / min(self.times)


@dataclass(frozen=True, slots=True)
class TransferFailed:
    """What went wrong, where, and what the libraries printed about it."""

    source: str
    target: str
    where: str
    """The service whose end failed."""
    memory: Literal["DRAM", "VRAM"]
    error: str
    said: tuple[str, ...]
    """Warnings and errors of UCX and NIXL, the first ones."""


def transfer(
    source: End,
    target: End,
    *,
    backend: str = "UCX",
    parameters: Mapping[str, str] | None = None,
    modules: tuple[str, ...] = ("nixl_cu13", "nixl_cu12", "nixl"),
    size: int = SIZE,
    patience: float = _PATIENCE,
) -> Transferred | TransferFailed:
    """Write `size` bytes from `source` into `target` some times, and compare every byte. Never raises for a failure.

    Both ends are gone when this returns. `modules` are the packages that hold NIXL, the likeliest first.
    """
    told = {"size": size, "times": TIMES, "backend": backend, "parameters": parameters or {}, "modules": modules}
    memory: Literal["DRAM", "VRAM"] = "DRAM" if source.device is None else "VRAM"
    limit = time.monotonic() + patience
    with tempfile.TemporaryFile() as one, tempfile.TemporaryFile() as other:
        try:
            with Process(source, "prefill", told, one) as sender, Process(target, "decode", told, other) as receiver:
                sender.hear(limit)
                sender.tell(receiver.hear(limit))
                sent, received = sender.hear(limit), receiver.hear(limit)
        except EndFailedError as failure:
            said = complaints(_text(one) + _text(other))
            return TransferFailed(source.service, target.service, failure.where, memory, failure.error, said)
        used, how = lane(_text(one))
    if sent["digest"] != received["digest"]:
        error = "the bytes that arrived are not those that were sent"
        return TransferFailed(source.service, target.service, target.service, memory, error, ())
    return Transferred(source.service, target.service, memory, size, tuple(sent["times"]), used, how)


def _text(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")
