"""`down`: nothing of a deployment is left, and it says so."""

from __future__ import annotations

import time
from dataclasses import dataclass

from launcher.operations.arriving import settle, stop_all
from launcher.operations.events import Report
from launcher.operations.interrupts import interruptible
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
        store.recover(by=by)
        settle(store, by=by)
        numbers = store.numbers()
        number = store.current() or (numbers[-1] if numbers else None)
        if number is None:
            return Down(store.layout.deployment, (), 0.0)
        store.begin("down", from_generation=number, to_generation=None, by=by, why=why)
        stopped = stop_all(store.generation(number).plan, store, report, drain=drain)
        store.finish("done", by=by, why=why)
    return Down(store.layout.deployment, stopped, time.monotonic() - began)
