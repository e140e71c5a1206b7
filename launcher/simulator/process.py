"""What a process may do to itself: take a name in `ps`, die with its parent."""

import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_ARG_START, _ARG_END = 47, 48  # fields of /proc/PID/stat counted from 0, see proc_pid_stat(5)


def take_name(name: str) -> None:
    """Show `name` as this process's command line and, cut to 15 bytes, as its comm; the environment stays readable.

    SGLang does the same with the package setproctitle. Where the kernel forbids it the process keeps its old name.
    """
    try:
        Path("/proc/self/comm").write_text(name[:15], encoding="utf-8")
        # The name of the program, field 1, may hold blanks; it ends at the last parenthesis.
        after_name = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        start, end = int(after_name[_ARG_START - 2]), int(after_name[_ARG_END - 2])
        room = end - start
        title = name.encode()[: room - 1].ljust(room, b"\0")
        memory = os.open("/proc/self/mem", os.O_WRONLY)
        try:
            os.pwrite(memory, title, start)
        finally:
            os.close(memory)
    except (OSError, ValueError, IndexError, OverflowError):
        return


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies, even while it is stopped; ends it if that has happened."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
