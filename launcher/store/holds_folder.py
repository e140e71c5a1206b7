"""The folder of holds: one for the whole machine, open to every user, with one lock over it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from launcher.errors import BusyError, PdlaunchError

_STICKY = 0o1777
"""As /tmp: everyone adds files, nobody touches another's."""
_PATIENCE = 5.0
"""Seconds to wait for another command's look at the folder, which takes milliseconds."""


def folders() -> tuple[Path, ...]:
    """Where holds may lie; the first that can be written takes new ones.

    PDLAUNCH_HOLDS_DIR alone where that is set. Else /run/lock/pdlaunch, and /tmp/pdlaunch-holds for users who could not
    make the former; both are always looked at, so that such a user and root see each other.
    """
    if chosen := os.environ.get("PDLAUNCH_HOLDS_DIR"):
        return (Path(chosen).absolute(),)
    return Path("/run/lock/pdlaunch"), Path("/tmp/pdlaunch-holds")  # noqa: S108 - checked before each use


@contextlib.contextmanager
def locked() -> Iterator[Path]:
    """Be the only one who reads and writes holds; yields the folder for new ones.

    Raises:
        BusyError: another command keeps the folder locked.
        PdlaunchError: no folder can be written, or one was tampered with.
    """
    with contextlib.ExitStack() as stack:
        usable = [folder for folder in folders() if _ready(folder)]
        for folder in usable:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, fd)
            _lock(fd, folder)
        writable = next((folder for folder in usable if os.access(folder, os.W_OK)), None)
        if writable is None:
            raise PdlaunchError(
                f"no folder for holds can be written: {' or '.join(map(str, folders()))}",
                hint="name one that all users of this machine share in PDLAUNCH_HOLDS_DIR",
            )
        yield writable


def _ready(folder: Path) -> bool:
    """Whether the folder is there and what it should be; it is made where that can be done and none is there yet."""
    if not any(other.is_dir() for other in folders()):
        with contextlib.suppress(OSError):
            folder.mkdir()
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        raise PdlaunchError(f"{folder} is no folder", hint=f"look at it, then remove it: ls -ld {folder}")
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != _STICKY:
        folder.chmod(_STICKY)
    elif not os.access(folder, os.R_OK | os.X_OK):
        raise PdlaunchError(
            f"{folder} cannot be read, so nobody can tell which GPUs and ports are held",
            hint=f"sudo chmod 1777 {folder}, or name another folder in PDLAUNCH_HOLDS_DIR",
        )
    return True


def _lock(fd: int, folder: Path) -> None:
    """The folder itself is locked: a lock file could not be opened by every user, see fs.protected_regular."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise BusyError(
                    f"busy: another command keeps {folder} locked", hint=f"see which: fuser -v {folder}"
                ) from None
            time.sleep(0.01)
        else:
            return
