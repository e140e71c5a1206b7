"""One writer at a time for each deployment: a lock that the kernel lets go of when its holder dies."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import fcntl
import os
import time
from collections.abc import Iterator

from pydantic import ValidationError

from launcher.errors import BusyError
from launcher.frozen import Frozen
from launcher.render.layout import Layout
from launcher.store.files import in_words, make_folder, shared_mode, write_all
from launcher.store.journal import now
from launcher.store.process import Process, this_process


class Writing(Frozen):
    """Who is changing the deployment."""

    operation: str
    by: str
    why: str | None
    process: Process
    since: dt.datetime

    def __str__(self) -> str:
        """``anna is running `up` since 20:31 (pid 4711)``."""
        reason = f": {self.why}" if self.why else ""
        return f"{self.by} is running `{self.operation}` since {moment(self.since)} (pid {self.process.pid}){reason}"


def moment(at: dt.datetime) -> str:
    """The time of day, with the date where that is not today."""
    local = at.astimezone()
    return local.strftime("%H:%M" if local.date() == now().date() else "%Y-%m-%d %H:%M")


@contextlib.contextmanager
def writer(layout: Layout, operation: str, by: str, why: str | None = None) -> Iterator[Writing]:
    """Be the one who changes this deployment until the block ends, however it ends.

    Raises:
        BusyError: somebody else is; the message says who, what, since when.
        PdlaunchError: the state folder cannot be written.
    """
    path = layout.state / "writer.lock"
    with in_words(f"lock {layout.deployment} for `{operation}`", layout.state):
        make_folder(layout.state)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(fd, layout.deployment) from None
        mine = Writing(operation=operation, by=by, why=why, process=this_process(), since=now())
        with in_words(f"lock {layout.deployment} for `{operation}`", layout.state):
            if os.fstat(fd).st_uid == os.geteuid():
                os.fchmod(fd, shared_mode(layout.state, 0o644))
            os.ftruncate(fd, 0)
            _leave_note(fd, mine)
        try:
            yield mine
        finally:
            os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def _leave_note(fd: int, mine: Writing) -> None:
    """Say who holds the lock; on a full disk it is held all the same, and nobody can read by whom."""
    try:
        write_all(fd, mine.model_dump_json().encode())
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise


def writing(layout: Layout) -> Writing | None:
    """Who is changing the deployment now, or None; the note of a process that died counts for nothing.

    It takes no lock: that could get into a writer's way.
    """
    with contextlib.suppress(OSError, ValidationError):
        note = Writing.model_validate_json((layout.state / "writer.lock").read_bytes())
        return note if note.process.alive() else None
    return None


def _busy(fd: int, deployment: str) -> BusyError:
    note = _note(fd)
    return BusyError(
        f"busy: {note}" if note else f"busy: another pdlaunch is changing {deployment}",
        hint=f"wait until it is done (pdlaunch status -d {deployment}), or end it: kill {note.process.pid}"
        if note
        else f"wait until it is done: pdlaunch status -d {deployment}",
    )


def _note(fd: int) -> Writing | None:
    """The holder writes its note just after it got the lock: give it a moment."""
    for _ in range(20):
        with contextlib.suppress(ValidationError):
            return Writing.model_validate_json(os.pread(fd, 1 << 16, 0))
        time.sleep(0.005)
    return None
