"""What runs now, read from the processes themselves: command, environment, executable.

The environment in /proc is the one that a process was started with: of a main process exactly what its script gave, of
a child that the engine spawned also what the engine had set by then (proc_pid_environ(5)).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.backends.adopted import adopted
from launcher.backends.cgroups import units_of
from launcher.backends.processes import Proc, Table, look
from launcher.render.systemd import service_unit

SUPERVISOR = "supervisord"
"""What the daemon's own mark names instead of a service: `launcher.backends.processes.SUPERVISOR`."""
GONE = " (deleted)"
"""What the kernel appends to the path of a file that has no name any more."""


@dataclass(frozen=True, slots=True)
class LiveProcess:
    """One process as it is; None where we may not look, or where it wrote over its own environment."""

    proc: Proc
    environ: Mapping[str, str] | None
    executable: str | None
    """With GONE at its end where the file was replaced or removed since."""

    @property
    def renamed(self) -> str | None:
        """The title that it gave itself instead of its command, such as ``sglang::router``."""
        words = self.proc.cmdline
        return words[0].strip() if len(words) == 1 and "/" not in words[0] else None


@dataclass(frozen=True, slots=True)
class LiveService:
    """The processes of one service."""

    name: str
    main: LiveProcess
    children: tuple[LiveProcess, ...]
    """Oldest first."""
    supervised: bool
    """Whether the supervisor is its parent, so that it is started again when it ends."""
    twins: tuple[Proc, ...] = ()
    """Main processes that carry the same mark and that no supervisor started."""
    adopted: bool = False
    """Whether others had started it, and a generation was recorded of this very process."""

    @property
    def processes(self) -> tuple[LiveProcess, ...]:
        """The main process and its children."""
        return (self.main, *self.children)


def live(state: Path) -> Mapping[str, LiveService]:
    """Every service of the deployment whose folder is `state` that has a process, by name."""
    return read(look(state), adopted(state), state.name)


def read(
    table: Table, foreign: Collection[tuple[int, int]] = (), deployment: str | None = None
) -> Mapping[str, LiveService]:
    """The same, of one look at the processes; `foreign` has pid and start time of those that were adopted.

    What runs in its unit of `deployment` is supervised by systemd.
    """
    daemons = {proc.pid for proc in table.services.get(SUPERVISOR, ())}

    def supervised(proc: Proc) -> bool:
        if proc.ppid in daemons:
            return True
        return bool(deployment and proc.service) and service_unit(str(deployment), str(proc.service)) in units_of(
            proc.pid
        )

    found = {}
    for name, procs in table.services.items():
        if name != SUPERVISOR:
            found[name] = _service(name, procs, table, supervised, foreign)
    return found


def _service(
    name: str,
    procs: tuple[Proc, ...],
    table: Table,
    is_supervised: Callable[[Proc], bool],
    foreign: Collection[tuple[int, int]],
) -> LiveService:
    roots = _roots(procs)
    main = next((root for root in roots if is_supervised(root)), roots[0])
    tree = table.tree([main])
    own, supervised = (main.pid, main.started) in foreign, is_supervised(main)
    twins = tuple(r for r in roots if r is not main and not own and _is_twin(r, tree, supervised=supervised))
    children = sorted({*procs, *tree} - set(table.tree(twins)) - {main}, key=_age)
    return LiveService(
        name, _process(main), tuple(map(_process, children)), supervised=supervised, twins=twins, adopted=own
    )


def _roots(procs: tuple[Proc, ...]) -> list[Proc]:
    """Those whose parent is not of the same service, oldest first."""
    pids = {proc.pid for proc in procs}
    return [proc for proc in procs if proc.ppid not in pids]


def _is_twin(root: Proc, tree: tuple[Proc, ...], *, supervised: bool) -> bool:
    """A child of the main process that lost its parent is no twin: it is younger and still in one of its groups."""
    main = tree[0]
    if root.cmdline == main.cmdline or (supervised and root.started < main.started):
        return True
    return root.pgid not in {proc.pgid for proc in tree}


def _age(proc: Proc) -> tuple[int, int]:
    return proc.started, proc.pid


def _process(proc: Proc) -> LiveProcess:
    folder = f"/proc/{proc.pid}"
    executable = None
    with contextlib.suppress(OSError):
        executable = os.readlink(f"{folder}/exe")  # noqa: PTH115 - a Path would lose what the kernel appends
    return LiveProcess(proc, _environ(folder), executable)


def _environ(folder: str) -> Mapping[str, str] | None:
    try:
        content = Path(f"{folder}/environ").read_bytes()
    except OSError:
        return None
    pairs = [entry.partition(b"=") for entry in content.split(b"\0") if b"=" in entry]
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs} or None
