"""`down`: nothing of a deployment is left, and it says so."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.arriving import stop_all
from launcher.operations.confirming import forget
from launcher.operations.driving import settle_boot, tell
from launcher.operations.events import Report
from launcher.operations.interrupts import interruptible
from launcher.operations.noting import Note, noted
from launcher.operations.targets import forget_targets
from launcher.plan import Plan
from launcher.store import Store, who, writer


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
        noted(report, lambda: store.recover(by=by))
        note = Note(store, report)
        note.begin("down", from_generation=number, to_generation=None, by=by, why=why)
        settle_boot(plan, store.layout, None)  # first: a reboot in the middle starts nothing again
        forget(store)
        tell(plan, store.layout, f"down by {by}{f': {why}' if why else ''}")
        stopped = stop_all(plan, store, report, drain=drain)
        tell(plan, store.layout, "down done: nothing is left")
        with contextlib.suppress(PdlaunchError):  # then Prometheus says that it is down, and it is
            forget_targets(store.layout)
        note.finish("done", by=by, why=why)
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
