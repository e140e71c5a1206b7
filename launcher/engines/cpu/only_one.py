"""One installation at a time."""

from __future__ import annotations

import fcntl
import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TextIO

from launcher.errors import BusyError


@contextmanager
def only_one(path: Path, on_wait: Callable[[str], None] | None) -> Iterator[int]:
    """Hold the lock file at `path`; yields its descriptor, which a child that gets it goes on holding.

    Where another process holds it, `on_wait` is told who that is and its end is awaited; without `on_wait` that is a
    BusyError.
    """
    with path.open("a+") as file:
        if not _taken(file):
            holder = _holder(file)
            if on_wait is None:
                raise BusyError(f"{path.parent} is being installed by {holder}", hint="wait until that has ended")
            on_wait(f"waiting for {holder}")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"process {os.getpid()} of {getpass.getuser()}, since {datetime.now().astimezone():%H:%M:%S}")
        file.flush()
        yield file.fileno()


def _taken(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: TextIO) -> str:
    file.seek(0)
    return file.read() or "another process"
