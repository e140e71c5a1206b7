"""`up`: from a profile or a lock to a deployment that answers."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import PdlaunchError, ReturnedError
from launcher.observe.running import running
from launcher.operations.arriving import arrive, keep_what_runs
from launcher.operations.booting import hold_what_booted, settle_next_boot
from launcher.operations.confirming import promise, require_returnable, take_back
from launcher.operations.doctoring import require_healthy
from launcher.operations.driving import backend_of
from launcher.operations.events import Event, Report
from launcher.operations.going import Arrived
from launcher.operations.handover import old_units_start
from launcher.operations.interrupts import interruptible
from launcher.operations.moving import Move
from launcher.operations.newer_packages import newer_packages
from launcher.operations.presence import hold_is_alive
from launcher.operations.replacing import replace_holders
from launcher.operations.rollback import return_to
from launcher.operations.secret_files import require_secrets
from launcher.operations.starting import Start, start_of
from launcher.operations.status import status
from launcher.operations.subject import is_about
from launcher.operations.surveying import find_move
from launcher.plan import Plan
from launcher.store import Generation, Store, claim, layout, resources, who, writer
from launcher.store.unconfirmed import unconfirmed


@dataclass(frozen=True, slots=True)
class Up:
    """How `up` ended."""

    deployment: str
    generation: int
    url: str
    move: Move
    arrived: Arrived | None
    """None where everything ran as planned already."""
    until: dt.datetime | None = None
    """When the former generation returns unless this one is confirmed; None where nothing waits for that."""


def up(
    profile: Path,
    report: Report,
    *,
    why: str | None = None,
    backend: str | None = None,
    replace: bool = False,
    confirm: float | None = None,
) -> Up:
    """Bring the deployment of a profile, or of a lock, into service.

    With `confirm` (seconds) the former generation returns unless `pdlaunch confirm` comes within that time; where the
    new one does not come up, it returns at once, and ReturnedError is raised.

    Raises InputError for what is wrong with the file, BusyError for what somebody else holds, and PdlaunchError for
    what failed; after a failure nothing runs that this had begun, and what it had left alone still does.
    """
    began = time.monotonic()
    report(Event("checking", str(profile), passing=True))
    start = start_of(profile, backend=backend)
    plan = start.plan
    place = layout(plan.deployment)
    is_about(plan.deployment)
    backend_of(plan, place).require()
    require_secrets(plan.services)
    report(Event("checked", start.summary, seconds=time.monotonic() - began))
    by = who()
    with interruptible(), writer(place, "up", by, why):
        store = Store(place)
        store.recover(by=by)
        if replace:
            require_healthy(plan, store, replacing=True)
            replace_holders(plan, place, report, by=by, why=why)
        hold_what_booted(plan.deployment)
        claim(place, resources(plan), by=by, why=why, is_alive=hold_is_alive)
        try:
            return _up(start, store, report, by=by, why=why, confirm=confirm)
        finally:
            keep_what_runs(store)


def _up(start: Start, store: Store, report: Report, *, by: str, why: str | None, confirm: float | None) -> Up:
    former = require_returnable(start.plan, store) if confirm is not None else None
    generation, fresh = start.seal(store, by, why)
    plan = generation.plan
    move, _ = find_move(plan, backend_of(plan, store.layout), store)
    arrived, until = None, None
    as_planned = move.nothing and store.current() == generation.number and not store.pending()
    if not (as_planned and _answers(store)):
        what = f"generation {generation.number}" + ("" if fresh else ", as recorded before")
        report(Event("recorded", f"{what}: {describe(move)}"))
        if move.start:
            require_healthy(plan, store)
        if confirm is None or former is None or former == generation.number:
            arrived = arrive(generation, store, report, operation="up", by=by, why=why)
        else:
            arrived = _until_confirmed(generation, former, confirm, store, report, by=by, why=why)
            until = promise(generation, former, confirm, store, by=by, why=why)
    else:  # a command that was killed may have come to all but this
        settle_next_boot(generation, store, report, back=old_units_start(store))
    _tell_of_packages(plan, store, report)
    return Up(plan.deployment, generation.number, url(plan), move, arrived, until)


def _tell_of_packages(plan: Plan, store: Store, report: Report) -> None:
    """A service that nothing of the profile restarts runs on with the packages that it has loaded."""
    started = {name: found.main.created for name, found in running(store.layout.state).items()}
    for name, newer in newer_packages(plan, started):
        loads = f"pdlaunch restart {name} -d {plan.deployment}"
        report(Event("packages", f"{name} runs what it had loaded before {newer} came; {loads} loads it"))


def _until_confirmed(
    generation: Generation, former: int, confirm: float, store: Store, report: Report, *, by: str, why: str | None
) -> Arrived:
    """Go there with the way back in force from before the first step on."""
    within = generation.plan.ready.within + confirm
    before = unconfirmed(store.layout)
    promise(generation, former, within, store, by=by, why=why)
    try:
        return arrive(generation, store, report, operation="up", by=by, why=why)
    except PdlaunchError as error:
        if _untouched(store):
            take_back(before, store)
            raise
        report(Event("returning", f"to generation {former}: {error.message}"))
        return_to(store, former, report, by=by, failed=generation.number)
        raise ReturnedError(
            f"generation {generation.number} did not come up ({error.message}); generation {former} serves again",
            hint=error.hint,
        ) from error


def _untouched(store: Store) -> bool:
    """Whether what failed last had not begun its first step."""
    last = next((event for event in reversed(store.journal.events()) if event.what == "finished"), None)
    return last is not None and bool(last.details.get("untouched"))


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
