"""`up --replace`: the deployments that hold what is wanted are stopped first, as `down` would."""

from __future__ import annotations

from launcher.operations.arriving import stop_all
from launcher.operations.confirming import forget
from launcher.operations.driving import settle_boot
from launcher.operations.events import Event, Report
from launcher.operations.noting import settle
from launcher.operations.presence import replaceable
from launcher.plan import Plan
from launcher.render import Layout
from launcher.store import Store, holders, layout, resources, writer


def replace_holders(plan: Plan, place: Layout, report: Report, *, by: str, why: str | None) -> tuple[str, ...]:
    """Stop every other deployment of this state folder that holds what `plan` wants; their names.

    One of another state folder is left alone: claiming will name it. Raises BusyError while somebody changes it.
    """
    names = replaceable(holders(resources(plan)).values(), place)
    for name in names:
        other = Store(layout(name))
        current = other.current()
        if current is None:
            continue
        with writer(other.layout, "down", by, why):
            report(Event("replacing", name))
            settle(other, by=by)
            other.begin(
                "down", from_generation=current, to_generation=None, by=by, why=why or f"replaced by {plan.deployment}"
            )
            before = other.generation(current).plan
            settle_boot(before, other.layout, None)
            forget(other)
            stop_all(before, other, report)
            other.finish("done", by=by)
    return names
