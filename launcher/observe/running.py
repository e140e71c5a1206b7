"""Which services run now, and as what: read from the processes, whoever started them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.backends.processes import SUPERVISOR, Proc, look
from launcher.plan import DIGEST


@dataclass(frozen=True, slots=True)
class Running:
    """The processes of one service."""

    digest: str | None
    """Digest of the service that the main process was started as; None where it cannot be read."""
    processes: tuple[Proc, ...]
    """Oldest first; the first is the main process."""

    @property
    def main(self) -> Proc:
        """The process that the others descend from."""
        return self.processes[0]


def running(state: Path) -> Mapping[str, Running]:
    """Every service of the deployment whose folder is `state` that has a process, by name."""
    services = look(state).services.items()
    return {name: Running(_digest(found[0].pid), found) for name, found in services if name != SUPERVISOR}


def command_of(pid: int) -> str | None:
    """The words of a process's command line, the first few; None for one that is not here."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    return " ".join(os.fsdecode(word) for word in words[:3] if word) or "a process without a command line"


def _digest(pid: int) -> str | None:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    prefix = os.fsencode(f"{DIGEST}=")
    return next((v[len(prefix) :].decode() for v in environ.split(b"\0") if v.startswith(prefix)), None)


def named_workers(procs: Iterable[Proc], table: Mapping[int, Proc]) -> tuple[Proc, ...]:
    """Those that SGLang named: schedulers, detokenizers, what lives as long as the server does.

    One without a name may be anything that Python spawned. One with its parent's name is a fork of it that has not
    become another program yet, such as a compiler: its end is no death.
    """
    return tuple(proc for proc in procs if _is_named(proc, table.get(proc.ppid)))


def _is_named(proc: Proc, parent: Proc | None) -> bool:
    return "sglang::" in " ".join(proc.cmdline) and (parent is None or parent.cmdline != proc.cmdline)
