"""Resource limits: this shell's, and those of the process that starts the services."""

from __future__ import annotations

import contextlib
import os
import resource
from dataclasses import dataclass
from pathlib import Path

UNLIMITED = resource.RLIM_INFINITY


@dataclass(frozen=True, slots=True)
class Limits:
    """Soft and hard limits; -1 is unlimited."""

    memlock: tuple[int, int]
    """Bytes that may be pinned: what RDMA and pinned pools register."""
    nofile: tuple[int, int]
    """Open files and sockets."""
    privileged: bool
    """Whether it may raise its own hard limits."""


def limits(pid: int | None = None) -> Limits | None:
    """The limits of process `pid`, else of this one; None for a process that may not be asked."""
    who = pid or 0
    try:
        memlock = resource.prlimit(who, resource.RLIMIT_MEMLOCK)
        nofile = resource.prlimit(who, resource.RLIMIT_NOFILE)
    except OSError:
        return None
    return Limits(memlock, nofile, _privileged(pid))


def _privileged(pid: int | None) -> bool:
    """CAP_SYS_RESOURCE, bit 24 of the effective set (capabilities(7)); root in a container often lacks it."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path(f"/proc/{pid or os.getpid()}/status").read_text().splitlines()
        return bool(int(next(line.split()[1] for line in lines if line.startswith("CapEff:")), 16) >> 24 & 1)
    return False


def shared_memory(path: Path = Path("/dev/shm")) -> int | None:  # noqa: S108  asked for its size
    """Bytes of /dev/shm, of which containers get 64 MiB unless told otherwise; None where there is none."""
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    return status.f_frsize * status.f_blocks
