"""What a process may do to itself: take a name in `ps`, die with its parent."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_ARG_START, _ARG_END = 47, 48  # fields of /proc/PID/stat counted from 0, see proc_pid_stat(5)


def take_name(name: str) -> None:
    """Show `name` as this process's command line and, cut to 15 bytes, as its comm; the environment stays readable.

    SGLang does the same with the package setproctitle. Where the kernel forbids it the process keeps its old name.
    """
    try:
        _write("/proc/self/comm", name.encode()[:15])
        # The name of the program, field 1, may hold blanks; it ends at the last parenthesis.
        after_name = _read("/proc/self/stat").rpartition(b")")[2].split()
        start, end = int(after_name[_ARG_START - 2]), int(after_name[_ARG_END - 2])
        room = end - start
        _write("/proc/self/mem", name.encode()[: room - 1].ljust(room, b"\0"), start)
    except (OSError, ValueError, IndexError, OverflowError):
        return


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def _write(path: str, data: bytes, offset: int = 0) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.lseek(file, offset, os.SEEK_SET)
        os.write(file, data)
    finally:
        os.close(file)


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies, even while it is stopped; ends it if that has happened."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
