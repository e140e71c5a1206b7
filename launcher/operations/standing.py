"""How a generation stands to what has been declared: what of it nobody calls safe, who waives that, what came since."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from launcher.compare import Change, SaidOfValue, Setting, Side, differences, judge_of, said_of
from launcher.compare.scope import fold
from launcher.compare.settings import settings_of
from launcher.errors import InputError, PdlaunchError
from launcher.frozen import Frozen
from launcher.knobs.catalogue import Catalogue, catalogue
from launcher.operations.sides import of_generation
from launcher.profile import Waiver
from launcher.store import Generation, Store, cache_dir
from launcher.store.names import named

_ALARMED = 2


class Objection(Frozen):
    """A setting that runs although somebody objects to its value."""

    subject: str
    """``decode.env NAME``."""
    value: str
    outcome: str
    """``bad``, ``outside`` or ``untested``."""
    why: str
    """What happens with a bad value; else what is safe."""
    hazard: str | None
    waiver: Waiver | None
    """Who allows it; None where the judgement came later than the start."""


class Since(Frozen):
    """What came since a generation that is known by a name, or as a good one."""

    generation: int
    known_as: str
    changes: int
    alarms: int
    """Those of them to whose value somebody objects."""


class Standing(Frozen):
    """The answer."""

    objections: tuple[Objection, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    """All of them, those of rules among them."""
    since: Since | None = None


def standing(store: Store, generation: Generation) -> Standing:
    """How `generation` stands; what cannot be read, such as a site's broken catalogue, is left out."""
    waivers = generation.plan.allowed
    try:
        known = catalogue(cache_dir() / "knobs")
    except InputError:
        return Standing(waivers=waivers)
    side = of_generation(generation, store).side
    return Standing(
        objections=tuple(_objections(side, known)), waivers=waivers, since=_since(side, generation, known, store)
    )


def _objections(side: Side, known: Catalogue) -> Iterator[Objection]:
    roles = {service.name: service.role for service in side.plan.services}
    single = [
        Change(kind, name, (service.name,), service.name, None, setting)
        for service in side.plan.services
        for (kind, name), setting in settings_of(service).items()
        if kind in ("args", "env") and _written(setting)
    ]
    found = []
    for change in fold(single, roles):
        said = said_of(change, known, side, side)
        if said and said.after and said.after.alarm < _ALARMED:
            found.append((said.after.alarm, _objection(change, said.after, said.hazard)))
    return (objection for _, objection in sorted(found, key=lambda each: (each[0], each[1].subject)))


def _written(setting: Setting) -> bool:
    """Whether somebody wrote this value, rather than another key from which pdlaunch makes it."""
    origin = setting.origin
    return origin is None or origin.kind == "adopted" or (origin.kind == "profile" and origin.note is None)


def _objection(change: Change, value: SaidOfValue, hazard: str | None) -> Objection:
    return Objection(
        subject=change.subject,
        value=change.values[1],
        outcome=value.outcome,
        why=value.why,
        hazard=hazard,
        waiver=value.waiver,
    )


def _since(side: Side, generation: Generation, known: Catalogue, store: Store) -> Since | None:
    """What came since the newest good generation, or else the newest one with a name."""
    with contextlib.suppress(PdlaunchError):
        found = _reference(store, generation.number)
        if found is not None:
            number, known_as = found
            before = of_generation(store.generation(number), store).side
            changes = differences(before, side, judge_of(known, before, side)).found
            alarms = sum(1 for d in changes if d.risk.said and d.risk.said.after and d.risk.said.after.alarm < _ALARMED)
            return Since(generation=number, known_as=known_as, changes=len(changes), alarms=alarms)
    return None


def _reference(store: Store, current: int) -> tuple[int, str] | None:
    from launcher.operations.generations import meant

    names = {number: name for name, number in named(store).items() if number < current}
    with contextlib.suppress(InputError):
        good = meant(store, "good").number
        if good < current:
            return good, names.get(good, "good")
    return max(names.items()) if names else None
