"""The processes of a deployment, looked at each second: cheaply, since a look at all of a machine's is not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from launcher.backends.processes import SUPERVISOR, Proc, look
from launcher.observe.running import named_workers
from launcher.watch import Body, Process

WATCH = "watch"
"""The mark of the watcher itself, which is no service."""
_COMPILERS = frozenset({"nvcc", "cicc", "ptxas", "cudafe++", "fatbinary", "ninja", "cc1plus", "clang", "clang++"})
"""What builds kernels while a request waits for them: flashinfer, Triton, DeepGEMM and torch call these."""


class Bodies:
    """Remembers which processes are whose, and looks only at those; all of them now and then."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._known: dict[str, tuple[Proc, tuple[Proc, ...]]] = {}
        self._compiling: Mapping[str, str] = {}

    def look_at_all(self) -> None:
        """Learn who is there now; a worker that was there is not forgotten as long as its main process runs."""
        table = look(self._state)
        found: dict[str, tuple[Proc, tuple[Proc, ...]]] = {}
        compiling = {}
        for name, procs in table.services.items():
            if name in (SUPERVISOR, WATCH):
                continue
            main = procs[0]
            before = self._known.get(name)
            kept = before[1] if before and before[0].started == main.started and before[0].pid == main.pid else ()
            found[name] = (main, tuple(dict.fromkeys((*kept, *named_workers(procs[1:], table)))))
            if compiler := _compiler(table.tree(procs)):
                compiling[name] = compiler
        self._known, self._compiling = found, compiling

    def now(self) -> Mapping[str, Body]:
        """Each service that has a main process, as it is at this moment."""
        found = {}
        for name, (main, workers) in self._known.items():
            states = {proc: state for proc in (main, *workers) if (state := _state(proc)) is not None}
            if main in states:
                found[name] = Body(
                    main=_process(main, states[main]),
                    since=main.created,
                    workers=tuple(_process(proc, states[proc]) for proc in workers if proc in states),
                    lost=tuple(_process(proc, "") for proc in workers if proc not in states),
                    compiling=self._compiling.get(name),
                )
        return found


def _compiler(procs: Iterable[Proc]) -> str | None:
    names = (os.path.basename(proc.cmdline[0].strip("[]")) for proc in procs if proc.cmdline)  # noqa: PTH119
    return next((name for name in names if name in _COMPILERS), None)


def _process(proc: Proc, state: str) -> Process:
    words = " ".join(proc.cmdline[:3]).strip()
    return Process(proc.pid, proc.started, words, stopped=state in ("T", "t"))


def _state(proc: Proc) -> str | None:
    """The letter of its state, None where it is gone or another process has its number: proc_pid_stat(5)."""
    try:
        file = os.open(f"/proc/{proc.pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(file, 4096).rpartition(b")")[2].split()
    except OSError:
        return None
    finally:
        os.close(file)
    if len(fields) < 20 or int(fields[19]) != proc.started or fields[0] in (b"Z", b"X"):
        return None
    return fields[0].decode()
