"""`up`: from a profile or a lock to a deployment that answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import PdlaunchError
from launcher.operations.arriving import arrive, keep_what_runs
from launcher.operations.driving import backend_of
from launcher.operations.events import Event, Report
from launcher.operations.going import Arrived
from launcher.operations.interrupts import interruptible
from launcher.operations.moving import Move
from launcher.operations.presence import hold_is_alive
from launcher.operations.replacing import replace_holders
from launcher.operations.starting import Start, start_of
from launcher.operations.status import status
from launcher.operations.surveying import find_move
from launcher.plan import Plan
from launcher.store import Store, claim, layout, resources, who, writer


@dataclass(frozen=True, slots=True)
class Up:
    """How `up` ended."""

    deployment: str
    generation: int
    url: str
    move: Move
    arrived: Arrived | None
    """None where everything ran as planned already."""


def up(
    profile: Path, report: Report, *, why: str | None = None, backend: str | None = None, replace: bool = False
) -> Up:
    """Bring the deployment of a profile, or of a lock, into service.

    Raises InputError for what is wrong with the file, BusyError for what somebody else holds, and PdlaunchError for
    what failed; after a failure nothing runs that this had begun, and what it had left alone still does.
    """
    began = time.monotonic()
    report(Event("checking", str(profile), passing=True))
    start = start_of(profile, backend=backend)
    plan = start.plan
    place = layout(plan.deployment)
    backend_of(plan, place).require()
    report(Event("checked", start.summary, seconds=time.monotonic() - began))
    by = who()
    with interruptible(), writer(place, "up", by, why):
        store = Store(place)
        store.recover(by=by)
        if replace:
            replace_holders(plan, place, report, by=by, why=why)
        claim(place, resources(plan), by=by, why=why, is_alive=hold_is_alive)
        try:
            return _up(start, store, report, by=by, why=why)
        finally:
            keep_what_runs(store)


def _up(start: Start, store: Store, report: Report, *, by: str, why: str | None) -> Up:
    generation, fresh = start.seal(store, by, why)
    plan = generation.plan
    move, _ = find_move(plan, backend_of(plan, store.layout), store)
    arrived = None
    as_planned = move.nothing and store.current() == generation.number and not store.pending()
    if not (as_planned and _answers(store)):
        what = f"generation {generation.number}" + ("" if fresh else ", as recorded before")
        report(Event("recorded", f"{what}: {describe(move)}"))
        arrived = arrive(generation, store, report, operation="up", by=by, why=why)
    return Up(plan.deployment, generation.number, url(plan), move, arrived)


def _answers(store: Store) -> bool:
    """Whether every service answers, rather than still loads; raises PdlaunchError for one that does neither."""
    services = status(store).services
    if silent := [service.name for service in services if service.state == "silent"]:
        raise PdlaunchError(
            f"all runs as planned, but {' and '.join(silent)} {'does' if len(silent) == 1 else 'do'} not answer",
            hint=f"pdlaunch logs {silent[0]}, then pdlaunch restart {silent[0]}",
        )
    return all(service.state == "ok" for service in services)


def describe(move: Move) -> str:
    """``prefill-0 restarts, decode-0 and router stay``."""
    parts = {
        "restart": [name for name in move.start if name in move.stop],
        "start": [name for name in move.start if name not in move.stop],
        "stop": [name for name in move.stop if name not in move.start],
        "stay": list(move.keep),
    }
    return ", ".join(_do(verb, names) for verb, names in parts.items() if names) or "nothing to do"


def _do(verb: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} {verb}s"
    return f"{' and '.join(names) if len(names) == 2 else f'{len(names)} services'} {verb}"


def url(plan: Plan) -> str:
    """Where clients go: the router, or the first server of a deployment without one."""
    door = plan.service("router") or plan.services[0]
    return f"http://{door.host}:{door.ports['http']}"
