"""Carrying out a move with its note in the store: begun, done or given up, and never left half without a word."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from launcher.backends.protocol import Backend
from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.booting import settle_next_boot
from launcher.operations.confirming import keep_unconfirmed, leave_unconfirmed
from launcher.operations.driving import backend_of, stop_others, without_plan
from launcher.operations.events import Event, Report
from launcher.operations.going import Arrived, UnwrittenError, go
from launcher.operations.handover import release_units, waiting
from launcher.operations.interrupts import Interrupted
from launcher.operations.moving import Move
from launcher.operations.noting import BEGUN, Note, noted
from launcher.operations.receipts import keep_receipts
from launcher.operations.surveying import find_move
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

    When that fails or is interrupted, what was begun is stopped again. What the current generation has running and
    the move left alone stays; so does everything where the failure, such as a taken port, came before the first step.
    Raises what `go` raises, and Interrupted.
    """
    plan = generation.plan
    driver = backend_of(plan, store.layout)
    as_adopted = bool(waiting(store))
    came_from = store.current()
    note = Note(store, report)
    note.begin(operation, from_generation=came_from, to_generation=generation.number, by=by, why=why)
    driver.tell(f"{operation} by {by}: generation {generation.number}{f', {why}' if why else ''}")
    found = None
    try:
        found, now = find_move(plan, driver, store, forced)
        arrived = go(generation, driver, store, report, note, found, now, by=by, why=why, drain=drain)
    except UnwrittenError:  # it serves: nothing is stopped for the want of a note
        raise
    except BaseException as error:
        outcome = "interrupted" if isinstance(error, Interrupted | KeyboardInterrupt) else "failed"
        untouched = note.step == BEGUN
        said = _keep(store) if untouched else _give_up(plan, store, report, found)
        report(Event(operation, f"{outcome}; {said}"))
        driver.tell(f"{operation} {outcome}: {str(error) or 'told to stop'}; {said}", bad=True)
        note.finish(outcome, by=by, why=str(error) or why, untouched=untouched)
        raise
    if operation == "rollback" and came_from != generation.number:
        noted(report, lambda: keep_unconfirmed(store, generation.number, by=by, why=why))
    settle_next_boot(generation, store, report, back=operation == "rollback" and not as_adopted)
    note.finish("done", by=by, why=why)
    driver.tell(f"{operation} done: generation {generation.number} serves, {arrived.proven}")
    noted(report, lambda: leave_unconfirmed(store, generation.number, by=by, why=why))
    release(store.layout, keep=resources(plan))
    keep_receipts(generation, store, report, by=by)
    return arrived


def _keep(store: Store) -> str:
    """Leave everything as it is; what is to be said of it."""
    keep_what_runs(store)
    return "nothing was stopped or started"


def _give_up(plan: Plan, store: Store, report: Report, found: Move | None) -> str:
    """End what was begun and leave the rest; what is to be said of it."""
    former = _former(store)
    kept = _kept(former, store, found)
    if former is None or not kept:
        stopped = stop_all(plan, store, report, limits=_GIVING_UP)
        return (f"{', '.join(stopped)} stopped again. " if stopped else "") + "Running: nothing"
    driver = _driver(plan, store, _GIVING_UP)
    ended = tuple(name for name in driver.units() if name not in kept)
    report(Event("stopping", ", ".join(ended), passing=True))
    driver.stop(ended)
    driver.end_orphans()
    driver.install(former.path)  # what is installed goes with the pointer
    release(store.layout, keep=resources(former.plan))
    stopped_too = f"{', '.join(ended)} stopped. " if ended else ""
    return f"{stopped_too}Running: {', '.join(kept)}, of generation {former.number}, which this left alone"


def _former(store: Store) -> Generation | None:
    """The current generation, where it can be read."""
    with contextlib.suppress(PdlaunchError):
        current = store.current()
        former = store.generation(current) if current is not None else None
        return former if former and former.plan else None
    return None


def _kept(former: Generation | None, store: Store, found: Move | None) -> tuple[str, ...]:
    """The services of the former generation that run as it has them and that the move did not touch."""
    if former is None or found is None:
        return ()
    wanted = {service.name: service.digest() for service in former.plan.services}
    now = running(store.layout.state)
    return tuple(name for name in found.keep if name in now and now[name].digest == wanted.get(name))


def keep_what_runs(store: Store) -> None:
    """Give back what was claimed for a start that did not happen; what serves, or is on its way, keeps its own."""
    if not running(store.layout.state):
        release(store.layout)
        return
    pending = store.pending()
    kept: set[str] = set()
    for number in {store.current(), pending.to_generation if pending else None} - {None}:
        with contextlib.suppress(PdlaunchError):
            kept |= set(resources(store.generation(number or 0).plan))
    if kept:
        release(store.layout, keep=kept)


def stop_all(
    plan: Plan | None, store: Store, report: Report, *, limits: Stop | None = None, drain: bool = True
) -> tuple[str, ...]:
    """Stop every process of the deployment, its supervisor last, and give back what it held; the names that ran.

    Without a plan, where none can be read any more, the processes' own marks say what there is to stop. Raises
    PdlaunchError naming what cannot be ended.
    """
    driver = _driver(plan, store, limits)
    now = running(store.layout.state)
    known = [service.name for service in plan.services] if plan else []
    ran = tuple(name for name in dict.fromkeys((*known, *now)) if name in now)
    if ran:
        report(Event("stopping", ", ".join(ran), passing=True))
        release_units(store, ran, report)
    if plan is not None:
        stop_others(plan, store.layout, limits or plan.stop, drain=drain)
    # The dead too: one that is still wanted would be started again with the supervisor.
    driver.stop(tuple(driver.units()), drain=drain)
    driver.end_orphans(drain=drain)
    driver.close()
    if left := running(store.layout.state):
        still = ", ".join(f"{name} (pid {found.main.pid})" for name, found in left.items())
        raise PdlaunchError(f"not stopped: {still}", hint="see what keeps them: ps -fp PID")
    release(store.layout)
    return ran


def _driver(plan: Plan | None, store: Store, limits: Stop | None) -> Backend:
    if plan is None:
        return without_plan(store.layout, limits or Stop())
    return backend_of(plan.model_copy(update={"stop": limits}) if limits else plan, store.layout)
