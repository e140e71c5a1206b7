"""What a boot starts once a generation has arrived: exactly one set of units, in whichever step this is killed."""

from __future__ import annotations

import contextlib

from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.confirming import waiting_for
from launcher.operations.driving import boots, settle_boot
from launcher.operations.events import Report
from launcher.operations.handover import adoption_of, settle_units
from launcher.operations.presence import hold_is_alive
from launcher.store import Generation, Store, claim, deployments, holders, layout, resources


def settle_next_boot(generation: Generation, store: Store, report: Report, *, back: bool) -> None:
    """Have a boot bring back `generation`; after the way `back` to an adopted one its old units do that.

    Until it is confirmed the former one stays. What is not to start is settled first: killed in between, nothing does.
    Raises PdlaunchError in systemctl's words.
    """
    if waiting_for(store) is not None:
        return
    found = adoption_of(generation)
    if back and found is not None and any(service.unit for service in found.services.values()):
        settle_boot(generation.plan, store.layout, None)
        settle_units(generation, store, report, back=True)
    else:
        settle_units(generation, store, report, back=False)
        settle_boot(generation.plan, store.layout, generation.path)


def hold_what_booted(deployment: str) -> None:
    """Have the other deployments that a boot brought back hold what they use: holds are forgotten with /run.

    Whoever wants the same cards then learns of them; of one that is damaged nobody does.
    """
    for name in deployments():
        place = layout(name)
        if (
            name == deployment
            or (number := boots(place)) is None
            or holders([f"name-{name}"])
            or not running(place.state)
        ):
            continue
        with contextlib.suppress(PdlaunchError):
            plan = Store(place).generation(number).plan
            claim(place, resources(plan), by="boot", why="came back at boot", is_alive=hold_is_alive)
