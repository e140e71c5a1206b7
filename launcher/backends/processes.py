"""The processes of a deployment, found by the mark that each service carries in its environment.

Children inherit the mark whatever session, group or parent they move to. `SPT_NOENV=1` in a service's environment
keeps it readable where a child renames itself: https://github.com/dvarrazzo/py-setproctitle#environment-variables
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from launcher.backends.adopted import adopted
from launcher.plan.model import MARK

SUPERVISOR = "supervisord"
"""The mark of a supervisor of our own, which is none of the services."""

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Proc:
    """One process; `pid` and `started` together name it for ever."""

    pid: int
    started: int
    """Clock ticks since boot."""
    ppid: int
    pgid: int
    service: str | None
    """The service whose mark it carries."""
    cmdline: tuple[str, ...]
    """The command with its arguments; the kernel's short name in brackets where it is not marked."""

    @property
    def created(self) -> float:
        """Start, seconds since the epoch."""
        return _boot() + self.started / _TICKS

    def alive(self) -> bool:
        """Whether it still runs; a zombie does not, it holds nothing."""
        return _stat(self.pid, self.started) is not None

    def signal(self, number: int) -> None:
        """Send a signal; nothing happens where the process is gone. Raises PermissionError for another user's."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def __str__(self) -> str:
        return f"pid {self.pid} ({' '.join(self.cmdline)})"


class Table(Mapping[int, Proc]):
    """One look at every process of the machine, zombies left out."""

    def __init__(self, procs: Iterable[Proc]) -> None:
        self._procs = {p.pid: p for p in procs}

    def __getitem__(self, pid: int) -> Proc:
        return self._procs[pid]

    def __iter__(self) -> Iterator[int]:
        return iter(self._procs)

    def __len__(self) -> int:
        return len(self._procs)

    @cached_property
    def services(self) -> Mapping[str, tuple[Proc, ...]]:
        """The marked processes of each service, oldest first."""
        found: dict[str, list[Proc]] = {}
        for proc in sorted(self.values(), key=lambda p: (p.started, p.pid)):
            if proc.service is not None:
                found.setdefault(proc.service, []).append(proc)
        return {name: tuple(procs) for name, procs in found.items()}

    def holds(self, proc: Proc) -> bool:
        """Whether this very process is there, not another one with its pid."""
        return (now := self._procs.get(proc.pid)) is not None and now.started == proc.started

    def tree(self, roots: Iterable[Proc]) -> tuple[Proc, ...]:
        """Those of `roots` that are there, with all their descendants; parents before children."""
        todo = [p for p in roots if self.holds(p)]
        found: dict[int, Proc] = {}
        while todo:
            proc = todo.pop(0)
            if proc.pid not in found:
                found[proc.pid] = proc
                todo += self._children.get(proc.pid, ())
        return tuple(found.values())

    def below(self, proc: Proc, ancestor: int) -> bool:
        """Whether `ancestor` is `proc` itself or above it."""
        seen: set[int] = set()
        pid = proc.pid
        while pid not in seen:
            if pid == ancestor:
                return True
            seen.add(pid)
            pid = self._procs[pid].ppid if pid in self._procs else 0
        return False

    @cached_property
    def _children(self) -> Mapping[int, list[Proc]]:
        found: dict[int, list[Proc]] = {}
        for proc in self.values():
            found.setdefault(proc.ppid, []).append(proc)
        return found


def look(state: Path) -> Table:
    """Every process now, those of the deployment whose folder is `state` marked with their service.

    A process of another user whose environment may not be read stays unmarked. An adopted one counts as marked, and
    so does what descends from it.
    """
    mark = os.fsencode(f"\0{MARK}={state}/")
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208  half the time of iterdir
    table = Table(p for pid in pids if (p := _proc(pid, mark)))
    others = adopted(state)
    return _with(table, others) if others else table


def _with(table: Table, others: Mapping[tuple[int, int], str]) -> Table:
    """The same processes, those of `others` (pid and start time) and what is below them marked with their service."""
    marks: dict[int, str] = {}
    for root in [p for p in table.values() if (p.pid, p.started) in others]:
        marks |= {p.pid: others[root.pid, root.started] for p in table.tree([root]) if p.service is None}
    return Table(
        replace(p, service=marks[p.pid], cmdline=_cmdline(p.pid)) if p.pid in marks else p for p in table.values()
    )


def marked(state: Path) -> Mapping[str, tuple[Proc, ...]]:
    """The processes of each service of the deployment whose folder is `state`, oldest first."""
    return look(state).services


def _proc(pid: int, mark: bytes) -> Proc | None:
    if (stat := _stat(pid)) is None:
        return None
    name, ppid, pgid, started = stat
    environ = b"\0" + (_read(f"/proc/{pid}/environ") or b"") + b"\0"
    at = environ.find(mark)
    if at < 0:
        return Proc(pid, started, ppid, pgid, None, (f"[{name}]",))
    service = environ[at + len(mark) : environ.index(b"\0", at + 1)]
    return Proc(pid, started, ppid, pgid, os.fsdecode(service), _cmdline(pid))


def _cmdline(pid: int) -> tuple[str, ...]:
    words = (_read(f"/proc/{pid}/cmdline") or b"").rstrip(b"\0").split(b"\0")
    return tuple(map(os.fsdecode, words))


def _stat(pid: int, started: int | None = None) -> tuple[str, int, int, int] | None:
    # "pid (name) state ppid pgrp …", start time the 22nd field; the name may hold spaces and brackets: proc(5).
    head, _, rest = (_read(f"/proc/{pid}/stat") or b"").rpartition(b")")
    fields = rest.split()
    if not fields or (started is not None and int(fields[19]) != started):
        return None
    if fields[0] in (b"Z", b"X") and int(fields[17]) < 2:
        return None  # with more threads only its first has ended: the others still hold files and memory
    name = head.partition(b"(")[2].decode(errors="replace")
    return name, int(fields[1]), int(fields[2]), int(fields[19])


@cache
def _boot() -> int:
    # The kernel's own "btime" instead of a difference of two clocks, so that the same process has the same start.
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("btime "))


def _read(path: str) -> bytes | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while part := os.read(file, 1 << 17):
            parts.append(part)
    except OSError:
        return None  # it ended while we read
    finally:
        os.close(file)
    return b"".join(parts)
