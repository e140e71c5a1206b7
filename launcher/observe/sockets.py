"""Who listens where, read from /proc: the ports of this machine and the processes behind them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

_LISTEN = "0A"
"""TCP_LISTEN in /proc/net/tcp (linux include/net/tcp_states.h)."""


@dataclass(frozen=True, slots=True)
class Listener:
    """One listening socket; pid is None where another user's process holds it and we may not look."""

    port: int
    pid: int | None
    command: str


def listeners(ports: Collection[int]) -> Mapping[int, Listener]:
    """The holder of each of `ports` that somebody listens on, whatever the address; absent ports are free."""
    inodes = _listening(set(ports))
    holders = _holders(set(inodes.values())) if inodes else {}
    return {port: _listener(port, holders.get(inode)) for port, inode in inodes.items()}


def _listening(ports: set[int]) -> dict[int, str]:
    found = {}
    for table in ("tcp", "tcp6"):
        path = Path("/proc/net") / table
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        for line in lines:
            fields = line.split()
            port = int(fields[1].rpartition(":")[2], 16)
            if fields[3] == _LISTEN and port in ports:
                found[port] = fields[9]
    return found


def _holders(inodes: set[str]) -> dict[str, int]:
    """The process that opened each socket: of several that hold it, children that inherited it, the oldest."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[str, set[int]] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            for descriptor in (process / "fd").iterdir():
                inode = wanted.get(str(descriptor.readlink()))
                if inode:
                    found.setdefault(inode, set()).add(int(process.name))
        except OSError:
            continue  # gone meanwhile, or another user's
    return {inode: min(pids, key=_age) for inode, pids in found.items()}


def _age(pid: int) -> tuple[int, int]:
    """When it started, in clock ticks since boot (field 22 of proc_pid_stat(5)), and its number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return sys.maxsize, pid
    return int(fields[19]), pid


def _listener(port: int, pid: int | None) -> Listener:
    if pid is None:
        return Listener(port, None, "a process of another user")
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return Listener(port, None, "a process that has just ended")
    return Listener(port, pid, b" ".join(words[:6]).decode(errors="replace"))
