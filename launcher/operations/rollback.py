"""`rollback`: back to an earlier generation, exactly as it was recorded, and never refused by a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from launcher.errors import PdlaunchError, ReturnedError
from launcher.observe.running import Running, running
from launcher.operations.arriving import arrive
from launcher.operations.driving import backend_of
from launcher.operations.events import Event, Report
from launcher.operations.evidence import Evidence, evidence_of
from launcher.operations.going import Arrived, UnwrittenError
from launcher.operations.interrupts import interruptible
from launcher.operations.moving import Move, move
from launcher.operations.noting import BEGUN, noted
from launcher.operations.presence import hold_is_alive
from launcher.operations.restoring import Restoring, restoring
from launcher.operations.restoring_checkout import restore_checkout
from launcher.operations.surveying import etas, survey
from launcher.operations.taking_over import under_way, writer_in_front
from launcher.store import Generation, Store, Writing, claim, resources, who, writer


@dataclass(frozen=True, slots=True)
class Way:
    """What a rollback would do."""

    generation: Generation
    current: int | None
    restoring: Restoring
    move: Move
    eta: float | None
    """Seconds until the slowest service that starts is loaded, by earlier starts."""
    damage: tuple[str, ...]
    """What of the generation is no longer as it was written."""
    evidence: Evidence | None
    """How it served; None where it never did."""
    ends: Writing | None
    """The `up` or `restart` under way, which is ended first; `move` is from what that leaves."""


def way_back(store: Store, number: int) -> Way:
    """The way to generation `number`; raises InputError where there is none of that number."""
    generation = store.generation(number)
    current = store.current()
    before = store.generation(current) if current in store.numbers() and current is not None else None
    now, broken = survey(backend_of(generation.plan, store.layout), store)
    ends = under_way(store.layout)
    found = move(generation.plan, _left(now, before, store) if ends else now, broken)
    known = etas(store)
    eta = max((known[name] for name in found.start if name in known), default=None)
    back = restoring(store, generation, before)
    return Way(generation, current, back, found, eta, tuple(store.verify(number)), evidence_of(store, number), ends)


def _left(now: Mapping[str, Running], before: Generation | None, store: Store) -> Mapping[str, Running]:
    """What a change that is ended leaves of what runs `now`: what the generation `before` it has like that."""
    pending = store.pending()
    if pending is None or pending.step == BEGUN:
        return now
    wanted = {service.name: service.digest() for service in before.plan.services} if before else {}
    return {name: found for name, found in now.items() if found.digest == wanted.get(name)}


def rollback(
    store: Store,
    number: int,
    report: Report,
    *,
    why: str | None = None,
    checkout: bool = False,
    drain: bool = True,
    in_front: bool = True,
) -> Arrived:
    """Bring generation `number` back into service; on failure return to the one that was current.

    Without `drain` running requests are cut; without `in_front` an `up` under way is not ended but raises BusyError.

    Raises ReturnedError where it returned, and PdlaunchError where the generation is damaged or nothing could be
    brought back. With `checkout` the user's checkout is restored as well, once the generation serves.
    """
    by = who()
    generation = store.generation(number)
    if damage := store.verify(number):
        raise PdlaunchError(
            f"generation {number} is not as it was recorded: {damage[0]}"
            + (f" (and {len(damage) - 1} more)" if damage[1:] else ""),
            hint="pdlaunch history shows the others",
        )
    first = writer_in_front(store.layout, "rollback", report, by=by, why=why)
    with interruptible(), first if in_front else writer(store.layout, "rollback", by, why):
        noted(report, lambda: store.recover(by=by))
        former = store.current() if running(store.layout.state) else None
        noted(report, lambda: claim(store.layout, resources(generation.plan), by=by, why=why, is_alive=hold_is_alive))
        try:
            arrived = arrive(generation, store, report, operation="rollback", by=by, why=why, drain=drain)
        except UnwrittenError:
            raise
        except PdlaunchError as error:
            if former is None or former == number:
                raise
            report(Event("returning", f"to generation {former}: {error.message}"))
            return_to(store, former, report, by=by, failed=number)
            raise ReturnedError(
                f"generation {number} did not come up ({error.message}); generation {former} serves again",
                hint=error.hint,
            ) from error
        if checkout:
            done = restore_checkout(store, generation, by=by, why=why)
            changed = f"{len(done.written)} files written, {len(done.removed)} removed"
            report(Event("checkout", f"{done.checkout}: {changed}; what it held lies in {done.captured}"))
        return arrived


def return_to(store: Store, former: int, report: Report, *, by: str, failed: int) -> None:
    """Bring `former` back after `failed` did not come up; raises what `arrive` raises."""
    generation = store.generation(former)
    noted(report, lambda: claim(store.layout, resources(generation.plan), by=by, is_alive=hold_is_alive))
    arrive(generation, store, report, operation="return", by=by, why=f"generation {failed} did not come up")
