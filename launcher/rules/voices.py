"""Who speaks of a profile's setting: the catalogues, and the declaration under `knobs` of the profile itself."""

from __future__ import annotations

from typing import Literal

from launcher.knobs.catalogue import Catalogue, Entry
from launcher.knobs.voices import Voices, own_entry
from launcher.profile import Loaded


def voices(
    name: str, kind: Literal["env", "flag"], catalogue: Catalogue, loaded: Loaded | None, *, simulated: bool = False
) -> Voices:
    """Those who speak of a variable or flag; of what a simulator is told the profile alone decides.

    A simulator is no engine: no kernel hangs, and no card is there to be misled.
    """
    known = tuple(each for each in catalogue.entries(name) if each.declaration.kind == kind)
    own = _own(name, kind, loaded, known) if loaded else None
    return Voices((*known, *([own] if own else ())), known if simulated else ())


def _own(name: str, kind: Literal["env", "flag"], loaded: Loaded, known: tuple[Entry, ...]) -> Entry | None:
    knob = loaded.profile.knobs.get(name)
    if knob is None:
        return None
    return own_entry(
        name,
        kind=kind,
        safe=(knob.safe,) if isinstance(knob.safe, str) else knob.safe or (),
        bad=knob.bad,
        why=knob.why,
        place=(loaded.path, loaded.lines.at("knobs", name)),
        type_=known[0].declaration.type if known else None,
    )
