"""Going to a generation: stop what differs, install, start, wait, prove, commit the pointer.

What is done is decided from what runs, not from what was begun, so that the same call continues after a kill between
any two steps. The order is the crash order: the store's note first, the pointer last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from launcher.backends.protocol import Backend
from launcher.errors import PdlaunchError
from launcher.observe.logs import Lines, Tail
from launcher.observe.running import Running, running
from launcher.operations.caches import prepare_caches
from launcher.operations.driving import stop_others
from launcher.operations.events import Event, Report
from launcher.operations.handover import release_units
from launcher.operations.loading import Loading, StartFailedError, Watch, ready
from launcher.operations.log_sources import new_lines
from launcher.operations.moving import Move
from launcher.operations.noting import Note, is_full, noted
from launcher.operations.ports import require_free, verify_owners
from launcher.operations.proving import Proven, prove
from launcher.operations.secret_files import troubles
from launcher.operations.surveying import etas
from launcher.plan import Plan, Service
from launcher.store import Event as JournalEvent
from launcher.store import Generation, Store

_AFTERMATH = 1.0
"""Seconds in which a server's death shows after a request to it has failed."""


class UnwrittenError(PdlaunchError):
    """The generation serves, and there was no room to say so."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """How going to a generation ended."""

    generation: int
    move: Move
    proven: Proven
    seconds: float


def go(
    generation: Generation,
    backend: Backend,
    store: Store,
    report: Report,
    note: Note,
    found: Move,
    now: Mapping[str, Running],
    *,
    by: str,
    why: str | None,
    drain: bool = True,
) -> Arrived:
    """Bring `generation` into service by the move `found` from what runs `now`.

    The caller holds the writer's lock and has begun the operation in the store.

    Raises StartFailedError, ProbeFailedError or PdlaunchError; what was started then still stands, for the caller to
    stop or to leave.
    """
    plan = generation.plan
    began = time.monotonic()
    services = _services(plan, found.start)
    for secret, what, _ in troubles(services):  # the way back is not refused, but its failure is foreseen
        report(Event("secrets", f"{secret.name}: {secret.file} {what}; what needs it will not start"))
    require_free(services, {proc.pid for name in found.stop for proc in now[name].processes})
    if generation.number != store.current():
        store.require_room()  # for the pointer and the backend's files: before anything is stopped
    _stop(found.stop, plan, backend, store, report, note, drain=drain)
    note.advance("starting")
    prepare_caches(plan, store.layout)
    backend.install(generation.path)
    with new_lines(plan, store.layout, [service.name for service in plan.services]) as lines:
        loadings = _loadings(services, lines)
        backend.start(found.start)
        deadline = began + plan.ready.within
        watch = Watch([*loadings, *_not_ready(plan, found.keep, lines)], backend, store.layout, report, etas(store))
        watch.until_loaded(deadline)
        loaded = time.monotonic()
        _verify_owners(plan, watch, store)
        proven = _prove(plan, watch, deadline, report)
    report(Event("ready", f"{len(services)} started, {len(found.keep)} left alone", seconds=time.monotonic() - loaded))
    noted(report, lambda: _record(store, generation, proven, loadings, by=by, why=why))
    _point(store, generation.number, report, by=by, why=why)
    backend.arrived()
    return Arrived(generation.number, found, proven, time.monotonic() - began)


def _point(store: Store, number: int, report: Report, *, by: str, why: str | None) -> None:
    """Commit the pointer, which says what a boot brings back and what a rollback leaves."""
    try:
        store.set_current(number, by=by, why=why)
    except PdlaunchError as error:
        if not is_full(error):
            raise
        if store.current() != number:
            raise UnwrittenError(
                f"generation {number} serves, but that could not be written down: {error.message}",
                hint="make room, then the same command again: it finds everything running and writes it down",
            ) from error
        report(Event("note", f"not written: {error.message}"))


def _stop(
    names: Collection[str],
    plan: Plan,
    backend: Backend,
    store: Store,
    report: Report,
    note: Note,
    *,
    drain: bool,
) -> None:
    if not names:
        return
    note.advance("stopping")
    release_units(store, names, report)
    began = time.monotonic()
    report(Event("stopping", ", ".join(names) + (", draining" if drain else ""), passing=True))
    stop_others(plan, store.layout, plan.stop, drain=drain)
    backend.stop(names, drain=drain)
    report(Event("stopped", ", ".join(names), seconds=time.monotonic() - began))


def _loadings(services: Iterable[Service], lines: Mapping[str, Lines]) -> list[Loading]:
    return [Loading(service, Tail(lines[service.name])) for service in services]


def _not_ready(plan: Plan, kept: Collection[str], lines: Mapping[str, Lines]) -> list[Loading]:
    """Those of the kept services that still load: an `up` that was killed had begun them, or they died meanwhile."""
    return [loading for loading in _loadings(_services(plan, kept), lines) if not ready(loading)]


def _services(plan: Plan, names: Collection[str]) -> list[Service]:
    return [service for service in plan.services if service.name in names]


def _verify_owners(plan: Plan, watch: Watch, store: Store) -> None:
    """As `verify_owners`; where a server has just died, that is what is wrong with its port."""
    try:
        verify_owners(plan, running(store.layout.state))
    except StartFailedError:
        watch.a_moment_longer(_AFTERMATH)
        raise


def _prove(plan: Plan, watch: Watch, deadline: float, report: Report) -> Proven:
    """Prove while the servers are watched: a crash under the first prompt is told at once, not after a time-out."""
    result: list[Proven | PdlaunchError] = []

    def work() -> None:
        try:
            result.append(prove(plan, deadline, report))
        except PdlaunchError as error:
            result.append(error)

    threading.Thread(target=work, daemon=True).start()
    watch.until(lambda: bool(result), deadline + 5.0)
    if isinstance(result[0], PdlaunchError):
        watch.a_moment_longer(_AFTERMATH)  # of a server that died, its own words say more than the broken request
        raise result[0]
    return result[0]


def _record(
    store: Store, generation: Generation, proven: Proven, loadings: list[Loading], *, by: str, why: str | None
) -> None:
    """Journal how far it is proven and how long each server took, from which later starts tell an ETA."""
    store.journal.append(
        JournalEvent(
            what="proved",
            by=by,
            why=why,
            generation=generation.number,
            details={
                "tokens": proven.tokens,
                "edges": proven.edges,
                "context": proven.context,
                "loaded": {x.service.name: round(x.loaded, 1) for x in loadings if x.loaded is not None},
            },
        )
    )
