"""Which process wrote something, so that a later one can tell whether it still lives."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from launcher.frozen import Frozen


class Process(Frozen):
    """A process of this machine, told apart from a later one with the same number."""

    pid: int
    started: int
    """Clock ticks since boot, from /proc/PID/stat: unlike a date it does not move when the clock is set."""
    boot: str
    """The kernel's boot id."""

    def alive(self) -> bool:
        """Whether exactly this process still runs; a zombie does not."""
        return self.boot == boot_id() and _started(self.pid) == self.started


def this_process() -> Process:
    """The process that asks."""
    return Process(pid=os.getpid(), started=_started(os.getpid()) or 0, boot=boot_id())


@cache
def boot_id() -> str:
    """Another text after every boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat, counted behind the name, which may hold spaces and brackets: proc_pid_stat(5)."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in {"Z", "X"} else int(fields[18])
