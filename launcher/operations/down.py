"""`down`: nothing of a deployment is left, and it says so."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable
from dataclasses import dataclass

from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.arriving import settle, stop_all
from launcher.operations.confirming import forget
from launcher.operations.driving import settle_boot, tell
from launcher.operations.events import Event, Report
from launcher.operations.interrupts import interruptible
from launcher.operations.targets import forget_targets
from launcher.plan import Plan
from launcher.store import Store, who, writer

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Down:
    """What was stopped."""

    deployment: str
    stopped: tuple[str, ...]
    seconds: float


def down(store: Store, report: Report, *, why: str | None = None, drain: bool = True) -> Down:
    """Stop everything of a deployment and give back what it held.

    Raises BusyError while somebody changes it, and PdlaunchError naming what cannot be ended.
    """
    by = who()
    began = time.monotonic()
    with interruptible(), writer(store.layout, "down", by, why):
        number, plan = _what_runs(store)
        if number is None and not running(store.layout.state):
            return Down(store.layout.deployment, (), 0.0)
        noted = _written(report, lambda: _begin(store, number, by=by, why=why))
        settle_boot(plan, store.layout, None)  # first: a reboot in the middle starts nothing again
        forget(store)
        tell(plan, store.layout, f"down by {by}{f': {why}' if why else ''}")
        stopped = stop_all(plan, store, report, drain=drain)
        tell(plan, store.layout, "down done: nothing is left")
        with contextlib.suppress(PdlaunchError):  # then Prometheus says that it is down, and it is
            forget_targets(store.layout)
        if noted:
            _written(report, lambda: store.finish("done", by=by, why=why))
    return Down(store.layout.deployment, stopped, time.monotonic() - began)


def _what_runs(store: Store) -> tuple[int | None, Plan | None]:
    """The current generation, or the newest that can be read: a damaged one must not keep anybody from stopping."""
    current = None
    with contextlib.suppress(PdlaunchError):
        current = store.current()
    for number in dict.fromkeys((current, *reversed(store.numbers()))):
        if number is not None:
            with contextlib.suppress(PdlaunchError):
                return number, store.generation(number).plan
    return current, None


def _begin(store: Store, number: int | None, *, by: str, why: str | None) -> None:
    store.recover(by=by)
    settle(store, by=by)
    store.begin("down", from_generation=number, to_generation=None, by=by, why=why)


def _written(report: Report, note: Callable[[], None]) -> bool:
    """Whether `note` was written; a full disk is told and keeps nobody from stopping what may have filled it."""
    try:
        note()
    except PdlaunchError as error:
        if not (isinstance(error.__cause__, OSError) and error.__cause__.errno in _FULL):
            raise
        report(Event("journal", f"not written: {error.message}"))
        return False
    return True
