"""How a service is ended: TERM to its main process, time to drain, then its whole tree, and proof that all is gone.

TERM to the whole group would be quicker and is a crash to SGLang: schedulers that die under the main process make it
dump stacks. A hung server never drains, hence the limits.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from launcher.backends.processes import Proc, Table, look
from launcher.backends.sockets import holders, listening, opened
from launcher.errors import PdlaunchError
from launcher.profile.model import Stop

_TICK = 0.05
_LOOK = 1.0
"""Seconds between two looks at all processes: new children are recorded before they can slip away."""
_GONE = 10.0
"""Seconds that the kernel gets to end what was killed."""


@dataclass(slots=True)
class Ending:
    """One service on its way out."""

    name: str
    main: Proc | None
    """None where only remains are left: they are killed at once."""
    term: Callable[[], None]
    """Sends TERM to the main process."""
    roots: tuple[Proc, ...] = ()
    """Processes that go with all their descendants ..."""
    marked: bool = True
    """... and whether every process that carries the service's mark goes too."""
    tree: dict[tuple[int, int], Proc] = field(default_factory=dict)
    sockets: dict[str, int] = field(default_factory=dict)

    def record(self, table: Table) -> tuple[Proc, ...]:
        """Remember every process that belongs to it now; returns those of all times that still live."""
        group = [p for p in table.values() if self.main is not None and p.pgid == self.main.pid]
        marked = table.services.get(self.name, ()) if self.marked else ()
        for proc in table.tree([*marked, *group, *self.roots, *self.tree.values()]):
            self.tree[proc.pid, proc.started] = proc
        return tuple(p for p in self.tree.values() if table.holds(p))


def end(
    endings: Collection[Ending], state: Path, limits: Stop, *, drain: bool, busy: Callable[[str], bool] | None = None
) -> None:
    """End all `endings` side by side and return when none of their processes and sockets is left.

    With `drain`, a main process gets TERM and until ``limits.drain`` to finish, and until ``limits.kill`` unless `busy`
    then says that it still works on requests; its tree goes with it. Without `drain` the tree is killed at once.
    Raises PdlaunchError naming what cannot be killed, or whoever holds a socket that outlived its service.
    """
    table = look(state)
    for ending in endings:
        ending.sockets.update(opened(ending.record(table)))
    if drain:
        _drain([e for e in endings if e.main is not None and e.main.alive()], state, limits, busy)
    _kill(endings, state)
    _prove(endings, state)


def _drain(endings: list[Ending], state: Path, limits: Stop, busy: Callable[[str], bool] | None) -> None:
    start = looked = time.monotonic()
    for ending in endings:
        ending.term()
    asked = False
    waiting = endings
    while waiting := [e for e in waiting if e.main is not None and e.main.alive()]:
        now = time.monotonic()
        if now >= start + limits.kill:
            return
        if not asked and now >= start + limits.drain:
            asked = True
            waiting = [e for e in waiting if busy is None or not busy(e.name)]
        if now >= looked + _LOOK:
            looked, table = now, look(state)
            for ending in waiting:
                ending.record(table)
        time.sleep(_TICK)


def _kill(endings: Collection[Ending], state: Path) -> None:
    deadline = time.monotonic() + _GONE
    while True:
        table = look(state)
        left = [proc for ending in endings for proc in ending.record(table)]
        if not left:
            return
        if time.monotonic() > deadline:
            raise PdlaunchError(
                "cannot be killed: " + ", ".join(map(str, left)),
                hint="the kernel holds it, often in a driver: see `cat /proc/PID/stack` and `dmesg`",
            )
        for proc in left:
            _signal(proc)
        time.sleep(_TICK)


def _signal(proc: Proc) -> None:
    try:
        proc.signal(signal.SIGKILL)
    except PermissionError:
        raise PdlaunchError(f"{proc} belongs to another user", hint="run pdlaunch as that user, or as root") from None


def _prove(endings: Collection[Ending], state: Path) -> None:
    """Wait until the sockets are closed as well, which the kernel may do a moment after the process has ended."""
    held: Mapping[str, int] = {inode: port for e in endings for inode, port in e.sockets.items()}
    deadline = time.monotonic() + _GONE
    while kept := held.keys() & listening().keys():
        if time.monotonic() > deadline:
            ports = ", ".join(str(port) for port in sorted({held[inode] for inode in kept}))
            who = ", ".join(map(str, holders(kept, look(state)))) or "a process that cannot be seen from here"
            raise PdlaunchError(f"port {ports} is still held by {who}", hint="end that process, then repeat this")
        time.sleep(_TICK)
