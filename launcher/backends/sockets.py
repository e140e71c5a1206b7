"""Whether listening sockets outlive the processes that opened them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from launcher.backends.processes import Proc, Table

_LISTEN = "0A"
"""TCP_LISTEN of include/net/tcp_states.h in Linux."""


def listening() -> Mapping[str, int]:
    """Every listening TCP socket of this network namespace: inode to port."""
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except FileNotFoundError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTEN:
                found[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    return found


def opened(procs: Iterable[Proc]) -> Mapping[str, int]:
    """The listening sockets that `procs` hold: inode to port."""
    every = listening()
    return {inode: every[inode] for proc in procs for inode in _inodes(proc) if inode in every}


def holders(inodes: Collection[str], table: Table) -> tuple[Proc, ...]:
    """The processes that hold one of `inodes` open."""
    return tuple(proc for proc in table.values() if not _inodes(proc).isdisjoint(inodes))


def _inodes(proc: Proc) -> frozenset[str]:
    found = []
    try:
        for descriptor in Path(f"/proc/{proc.pid}/fd").iterdir():
            try:
                target = str(descriptor.readlink())
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                found.append(target[len("socket:[") : -1])
    except OSError:
        return frozenset()  # it ended, or it is another user's
    return frozenset(found)
