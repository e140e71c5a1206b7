"""Where a process stands: Python frames by py-spy where there is one, else what the kernel says of each thread."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

_PATIENCE = 10.0
"""Seconds that py-spy gets for one process."""
_STATUS = ("Name", "State", "Pid", "Threads", "VmRSS", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
"""Lines of /proc/PID/status that tell a process that works from one that waits."""
_MISSING = "py-spy is not installed, so there are no Python frames: `pip install py-spy` in pdlaunch's environment"


def py_spy(folders: Iterable[Path]) -> str | None:
    """The py-spy of one of `folders`, else of the path: https://github.com/benfred/py-spy."""
    return next(filter(None, (shutil.which("py-spy", path=str(folder)) for folder in folders)), shutil.which("py-spy"))


def stack(pid: int, tool: str | None) -> str:
    """The stacks of one process, and why they are not more where that is so."""
    told = _python(pid, tool) if tool else _MISSING
    return f"{told}\n\n{kernel_side(pid)}"


def _python(pid: int, tool: str) -> str:
    # Without stopping the process: one that SIGSTOP holds, or that stands in a driver, would never be caught.
    command = [tool, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"py-spy said nothing for {_PATIENCE:g} s"
    except OSError as error:
        return f"py-spy cannot be run: {error}"
    return done.stdout if done.returncode == 0 else f"py-spy failed: {(done.stderr or done.stdout).strip()}"


def kernel_side(pid: int, proc: Path = Path("/proc")) -> str:
    """What /proc says of a process and each of its threads: state, where it waits in the kernel, its kernel stack."""
    folder = proc / str(pid)
    lines = [line for line in _text(folder / "status").splitlines() if line.startswith(_STATUS)]
    return "\n".join([*lines, *_threads(folder)]) or f"process {pid} is gone"


def _threads(folder: Path) -> Iterator[str]:
    tasks = folder / "task"
    for thread in sorted(tasks.iterdir(), key=lambda path: int(path.name)) if tasks.is_dir() else []:
        name, waits = _text(thread / "comm").strip(), _text(thread / "wchan").strip("0")
        state = _text(thread / "stat").rpartition(")")[2].split()
        yield f"thread {thread.name} ({name}) state {state[0] if state else '?'}" + (f" in {waits}" if waits else "")
        yield from (f"    {line}" for line in _text(thread / "stack").splitlines())


def _text(path: Path) -> str:
    """Empty where the kernel does not let us: /proc/PID/stack is root's."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
