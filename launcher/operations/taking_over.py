"""The way back does not wait for the way forward: a rollback ends an `up` that is still under way."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

from launcher.errors import BusyError
from launcher.operations.events import Event, Report
from launcher.render import Layout
from launcher.store import Writing, writer, writing

PATIENCE = 10.0
"""Seconds that a command under way gets to stop what it had started, before it is killed."""
_YIELDS = frozenset({"up", "restart"})
"""Operations that give way; another rollback or a `down` does not."""


@contextlib.contextmanager
def writer_in_front(layout: Layout, operation: str, report: Report, *, by: str, why: str | None) -> Iterator[Writing]:
    """Be the writer, ending an `up` or `restart` that holds the lock; raises BusyError where it may not be ended."""
    if held := under_way(layout):
        report(Event("taking over", f"{held}; it is told to stop"))
        _end(held)
    with writer(layout, operation, by, why) as mine:
        yield mine


def under_way(layout: Layout) -> Writing | None:
    """The `up` or `restart` that the way back would end, or None."""
    held = writing(layout)
    return held if held and held.operation in _YIELDS and held.process.pid != os.getpid() else None


def _end(held: Writing) -> None:
    try:
        os.kill(held.process.pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while held.process.alive():
            if time.monotonic() > deadline:
                os.kill(held.process.pid, signal.SIGKILL)
            time.sleep(0.1)
    except ProcessLookupError:
        return
    except PermissionError:
        raise BusyError(f"busy: {held}, and it belongs to another user", hint="sudo pdlaunch rollback ...") from None
