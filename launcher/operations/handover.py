"""Handing over: the first start of an adopted deployment ends the old units with the processes, the way back enables
them again.

The processes themselves need nothing here: they count as the deployment's own (`launcher.backends.adopted`), so that
whatever stops a service stops exactly the recorded trees.
"""

from __future__ import annotations

from collections.abc import Collection

from pydantic import JsonValue

from launcher.adopt.record import NAME, Adoption, OldUnit
from launcher.adopt.systemctl import disable, enable, stop_and_disable
from launcher.backends.adopted import adopted
from launcher.observe.running import running
from launcher.operations.events import Event, Report
from launcher.store import Event as JournalEvent
from launcher.store import Generation, Store

ADOPTED, HANDED_OVER = "adopted", "handed over"
ENABLED, DISABLED = "units enabled", "units disabled"
"""What the journal says."""


def adoption_of(generation: Generation) -> Adoption | None:
    """What was adopted as `generation`; None for one that was not."""
    path = generation.path / NAME
    return Adoption.model_validate_json(path.read_bytes()) if path.is_file() else None


def waiting(store: Store) -> frozenset[str]:
    """The services that still run as they were adopted, under their old launcher."""
    keys = adopted(store.layout.state)
    if not keys:
        return frozenset()
    now = running(store.layout.state)
    return frozenset(name for name, found in now.items() if (found.main.pid, found.main.started) in keys)


def release_units(store: Store, names: Collection[str], report: Report) -> None:
    """Stop and disable the old units of those of `names` that still run as adopted, before their processes are ended.

    Raises PdlaunchError in systemctl's words.
    """
    old = waiting(store) & set(names)
    generation = _adopted(store) if old else None
    if generation is None:
        return
    found = adoption_of(generation)
    units = _units(found, old) if found else ()
    if units:
        report(Event("handover", f"stopping and disabling {', '.join(u.name for u in units)}"))
        stop_and_disable(units)
    _note(store, HANDED_OVER, generation, units)


def settle_units(generation: Generation, store: Store, report: Report, *, back: bool) -> None:
    """After an arrival: enable the old units for the way `back` to the adopted generation, else see them disabled.

    They are started at the next boot only, so that exactly one set runs. Raises PdlaunchError in systemctl's words.
    """
    adopted_as = _adopted(store)
    found = adoption_of(adopted_as) if adopted_as else None
    if adopted_as is None or found is None:
        return
    units = _units(found, found.services)
    if not units:
        return
    last = next((e.what for e in reversed(store.journal.events()) if e.what in (HANDED_OVER, ENABLED, DISABLED)), None)
    if back and generation.number == adopted_as.number and last != ENABLED:
        enable([unit for unit in units if unit.enabled])
        _note(store, ENABLED, adopted_as, units)
        report(Event("units", f"{', '.join(u.name for u in units if u.enabled)} enabled again: they start at boot"))
    elif not (back and generation.number == adopted_as.number) and last == ENABLED:
        disable(units)
        _note(store, DISABLED, adopted_as, units)
        report(Event("units", f"{', '.join(u.name for u in units)} disabled again"))


def old_units_start(store: Store) -> bool:
    """Whether a boot starts the old units, after the way back to what was adopted."""
    kinds = (HANDED_OVER, ENABLED, DISABLED)
    return next((e.what for e in reversed(store.journal.events()) if e.what in kinds), None) == ENABLED


def _adopted(store: Store) -> Generation | None:
    """The newest generation that was adopted and is still there."""
    return next((g for g in reversed(store.generations()) if (g.path / NAME).is_file()), None)


def _units(found: Adoption, names: Collection[str]) -> tuple[OldUnit, ...]:
    units = (s.unit for name, s in found.services.items() if name in names)
    return tuple({unit.name: unit for unit in units if unit is not None}.values())


def _note(store: Store, what: str, generation: Generation, units: Collection[OldUnit]) -> None:
    pending = store.pending()
    by = pending.by if pending else next(e.by for e in reversed(store.journal.events()))
    details: dict[str, JsonValue] = {"units": [unit.name for unit in units]}
    store.journal.append(JournalEvent(what=what, by=by, generation=generation.number, details=details))
