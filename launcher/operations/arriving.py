"""Carrying out a move with its note in the store: begun, done or given up, and never left half without a word."""

from __future__ import annotations

from collections.abc import Collection

from launcher.backends.protocol import Backend
from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.driving import backend_of
from launcher.operations.events import Event, Report
from launcher.operations.going import Arrived, go
from launcher.operations.interrupts import Interrupted
from launcher.plan import Plan
from launcher.profile import Stop
from launcher.store import Generation, Store, release, resources

_GIVING_UP = Stop(drain=3.0, kill=8.0)
"""Seconds for servers that failed or never served: there is nothing to drain."""


def arrive(
    generation: Generation,
    store: Store,
    report: Report,
    *,
    operation: str,
    by: str,
    why: str | None,
    forced: Collection[str] = (),
    drain: bool = True,
) -> Arrived:
    """Bring `generation` into service under `operation`; the caller holds the writer's lock and the holds.

    When that fails or is interrupted everything of the deployment is stopped, so that what `status` says is simple:
    nothing runs. Raises what `go` raises, and Interrupted.
    """
    settle(store, by=by)
    plan = generation.plan
    driver = backend_of(plan, store.layout)
    store.begin(operation, from_generation=store.current(), to_generation=generation.number, by=by, why=why)
    try:
        arrived = go(generation, driver, store, report, by=by, why=why, forced=forced, drain=drain)
    except BaseException as error:
        outcome = "interrupted" if isinstance(error, Interrupted | KeyboardInterrupt) else "failed"
        stopped = stop_all(plan, store, report, limits=_GIVING_UP)
        again = f"; {', '.join(stopped)} stopped again" if stopped else ""
        report(Event(operation, f"{outcome}{again}. Running: nothing"))
        store.finish(outcome, by=by, why=str(error) or why)
        raise
    store.finish("done", by=by, why=why)
    release(store.layout, keep=resources(plan))
    return arrived


def settle(store: Store, *, by: str) -> None:
    """Close the note of an operation whose process died: what is to be done next follows from what runs."""
    if store.pending() is not None:
        store.finish("interrupted", by=by)


def stop_all(
    plan: Plan, store: Store, report: Report, *, limits: Stop | None = None, drain: bool = True
) -> tuple[str, ...]:
    """Stop every process of the deployment, its supervisor last, and give back what it held; the names that ran.

    Raises PdlaunchError naming what cannot be ended.
    """
    driver: Backend = backend_of(plan.model_copy(update={"stop": limits}) if limits else plan, store.layout)
    names = tuple(dict.fromkeys([s.name for s in plan.services if s.name in running(store.layout.state)]))
    others = tuple(name for name in running(store.layout.state) if name not in names and name in driver.units())
    if names or others:
        report(Event("stopping", ", ".join((*names, *others)), passing=True))
    driver.stop((*names, *others), drain=drain)
    driver.end_orphans(drain=drain)
    driver.close()
    if left := running(store.layout.state):
        still = ", ".join(f"{name} (pid {found.main.pid})" for name, found in left.items())
        raise PdlaunchError(f"not stopped: {still}", hint="see what keeps them: ps -fp PID")
    release(store.layout)
    return (*names, *others)
