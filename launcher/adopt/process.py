"""One look at the processes of this machine, and what /proc tells of one of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_LISTEN = "0A"
"""TCP_LISTEN (linux include/net/tcp_states.h)."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """A process; `pid` and `started` together name it until the next boot."""

    pid: int
    ppid: int
    started: int
    """Clock ticks since boot."""
    name: str
    """The kernel's short name."""
    words: tuple[str, ...]
    """The command line, or the title that was written over it."""


@dataclass(frozen=True, slots=True)
class Details:
    """What else /proc tells; None where we may not look, or where the process wrote over it."""

    environ: Mapping[str, str] | None
    """As it was at exec, in its order."""
    cwd: str | None
    exe: str | None
    uid: int
    cgroup: str
    """The path below the hierarchy; empty where there is none."""
    pid_namespace: str | None
    ignores_hangup: bool
    output: str | None
    """The file, pipe or terminal that it prints to."""


class Processes(Mapping[int, Process]):
    """Every process at one moment; `proc` is where the kernel shows them."""

    def __init__(self, proc: Path = PROC) -> None:
        self.proc = proc
        pids = [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
        self._found = {pid: process for pid in pids if (process := _process(proc, pid))}

    def __getitem__(self, pid: int) -> Process:
        return self._found[pid]

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def above(self, process: Process) -> Iterator[Process]:
        """Its parent, the parent's parent, up to the first process."""
        seen = {process.pid}
        while (parent := self._found.get(process.ppid)) is not None and parent.pid not in seen:
            seen.add(parent.pid)
            yield parent
            process = parent

    def tree(self, root: Process) -> tuple[Process, ...]:
        """`root` and all its descendants, parents first."""
        found = [root]
        for parent in found:
            found += [p for p in self.values() if p.ppid == parent.pid and p not in found]
        return tuple(found)

    def details(self, process: Process) -> Details:
        """What else is to be known of `process`."""
        folder = self.proc / str(process.pid)
        status = _lines(folder / "status")
        uid = next((int(line.split()[1]) for line in status if line.startswith("Uid:")), 0)
        ignored = next((int(line.split()[1], 16) for line in status if line.startswith("SigIgn:")), 0)
        return Details(
            environ=_environ(folder),
            cwd=_link(folder / "cwd"),
            exe=_link(folder / "exe"),
            uid=uid,
            cgroup=_cgroup(folder),
            pid_namespace=_link(folder / "ns" / "pid"),
            ignores_hangup=bool(ignored & 1),
            output=_link(folder / "fd" / "1"),
        )

    def ports(self, tree: tuple[Process, ...]) -> tuple[int, ...]:
        """The TCP ports that any of `tree` listens on, lowest first."""
        inodes = {link for p in tree for link in _descriptors(self.proc / str(p.pid) / "fd")}
        found = set()
        for table in ("tcp", "tcp6"):
            for line in _lines(self.proc / "net" / table)[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and f"socket:[{fields[9]}]" in inodes:
                    found.add(int(fields[1].rpartition(":")[2], 16))
        return tuple(sorted(found))

    def born(self, process: Process) -> float:
        """Its start, seconds since the epoch."""
        boot = next((int(line.split()[1]) for line in _lines(self.proc / "stat") if line.startswith("btime ")), 0)
        return boot + process.started / _TICKS


def _process(proc: Path, pid: int) -> Process | None:
    # "pid (name) state ppid …", start time the 22nd field; the name may hold spaces and brackets: proc(5).
    try:
        head, _, rest = (proc / str(pid) / "stat").read_bytes().rpartition(b")")
        cmdline = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    fields = rest.split()
    if len(fields) < 20 or (fields[0] in (b"Z", b"X") and int(fields[17]) < 2):
        return None
    return Process(pid, int(fields[1]), int(fields[19]), os.fsdecode(head.partition(b"(")[2]), words_of(cmdline))


def words_of(cmdline: bytes) -> tuple[str, ...]:
    """The words of a command line as the kernel keeps it; of a title that was written over it, the title.

    A title is one text without the closing NUL that each argument has, or is padded with NULs and spaces.
    """
    text = cmdline.rstrip(b"\0 ")
    if text.startswith(b"sglang::"):
        return (os.fsdecode(text.partition(b"\0")[0]).strip(),)
    body = cmdline.removesuffix(b"\0")
    return tuple(map(os.fsdecode, body.split(b"\0"))) if body else ()


def _environ(folder: Path) -> Mapping[str, str] | None:
    try:
        content = (folder / "environ").read_bytes()
    except OSError:
        return None
    pairs = [entry.partition(b"=") for entry in content.split(b"\0") if b"=" in entry]
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs} or None


def _cgroup(folder: Path) -> str:
    """The unified hierarchy's path, or systemd's own where a machine still has both and only that one says more."""
    lines = [line.split(":", 2) for line in _lines(folder / "cgroup") if line.count(":") >= 2]
    paths = {controllers: path for _, controllers, path in lines}
    said = [path for name in ("", "name=systemd") if (path := paths.get(name))]
    return next((path for path in said if path != "/"), said[0] if said else "")


def _descriptors(folder: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if link := _link(entry):
                yield link


def _link(path: Path) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115  a Path would lose what the kernel appends
    except OSError:
        return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
