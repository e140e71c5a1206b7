"""`restart`: the same generation once more, as it was recorded."""

from __future__ import annotations

from launcher.errors import InputError
from launcher.operations.arriving import arrive
from launcher.operations.events import Report
from launcher.operations.going import Arrived
from launcher.operations.interrupts import interruptible
from launcher.operations.noting import noted
from launcher.operations.presence import hold_is_alive
from launcher.plan import Plan
from launcher.store import Generation, Store, claim, resources, who, writer


def restart(
    store: Store, names: tuple[str, ...], report: Report, *, why: str | None = None, drain: bool = True
) -> Arrived:
    """Restart the services that `names` means (a service, a role; none is all) and wait until tokens come back.

    Without `drain` running requests are cut: what hangs never finishes them. Judges nothing: the generation starts as
    it was recorded. Raises InputError for a name that it does not have.
    """
    by = who()
    generation = recorded(store)
    chosen = meant(generation.plan, names)
    with interruptible(), writer(store.layout, "restart", by, why):
        noted(report, lambda: store.recover(by=by))
        noted(report, lambda: claim(store.layout, resources(generation.plan), by=by, why=why, is_alive=hold_is_alive))
        return arrive(generation, store, report, operation="restart", by=by, why=why, forced=chosen, drain=drain)


def recorded(store: Store) -> Generation:
    """The generation that is current; raises InputError where none has served yet."""
    current = store.current()
    if current is None:
        raise InputError(f"{store.layout.deployment} has not served yet", hint="pdlaunch up PROFILE")
    return store.generation(current)


def meant(plan: Plan, names: tuple[str, ...]) -> tuple[str, ...]:
    """The services that `names` means, in start order; ``decode`` is every decode server."""
    every = [service.name for service in plan.services]
    for name in names:
        if not any(name in (s.name, s.role) for s in plan.services):
            raise InputError(f"there is no service {name!r} in {plan.deployment}; there are: {', '.join(every)}")
    if not names:
        return tuple(every)
    return tuple(s.name for s in plan.services if s.name in names or s.role in names)
