"""What is said of a setting that nobody declared, or that a declaration does not admit, and what to type."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from difflib import SequenceMatcher
from pathlib import Path

from launcher.knobs import EngineKnobs, EnvKnob, Place, nearest
from launcher.knobs.catalogue import Catalogue
from launcher.knobs.declaration import Declaration
from launcher.knobs.voices import Judged, Voices
from launcher.profile import DELETE, Finding, KeyPath, Loaded

_INDENT = "\n         "
_CLAIMS = 3
"""Claims told with a problem; `explain` tells all."""
_HOLDS_FOR = dt.timedelta(days=7)


def reasons(heard: Voices, judged: Judged, profile: Path | None, knobs: EngineKnobs | None = None) -> str:
    """Why a value is not admitted: the judgement, what is safe, the hazard, who says so, and where it is read."""
    verdict = judged.verdict
    lines = [
        {
            "bad": f"known bad: {verdict.why}",
            "outside": f"outside the safe range, {verdict.why}",
            "untested": "untested: nobody has said that this value is safe",
        }[verdict.outcome]
    ]
    for safe, places in heard.safe.items():
        lines.append(f"safe: {safe}     said by: {', '.join(_place(place, profile) for place in places)}")
    if heard.hazard and verdict.outcome != "bad":
        lines.append(f"hazard: {heard.hazard}")
    for claim in [each for each in judged.claims if each.says not in (verdict.why, judged.by.declaration.about)][
        :_CLAIMS
    ]:
        where = ", ".join(filter(None, (claim.date, claim.hardware)))
        lines.append(f"{claim.status}: {claim.says}{f' ({where})' if where else ''}  {_place(claim.source, profile)}")
    harvested = knobs.env.get(heard.first.name) if knobs else None
    if harvested and heard.first.only_fork and (read := _read_at(harvested)):
        lines.append(f"read only by this fork: {read}")
    return _INDENT.join(lines)


def _place(place: str, profile: Path | None) -> str:
    return place.replace(f"{profile}:", "this profile, line ") if profile else place


def ways_out(here: KeyPath, written: str, judged: Judged, today: dt.date | None) -> str:
    """The line to write instead, and the waiver that it takes to start all the same."""
    until = (today + _HOLDS_FOR).isoformat() if today else "YYYY-MM-DD"
    setting = what(here, written)
    plain = re.fullmatch(r"[A-Za-z0-9_.=/+-]+", setting)
    keys = [f"what: {setting if plain else quoted(setting)}", 'why: "..."', 'by: "..."', f"until: {until}"]
    allow = f"  - {{{', '.join(keys)}}}"
    if judged.verdict.outcome == "bad":  # whoever allows it names what is said against it, and that is long
        keys.insert(1, f"claim: {quoted(judged.claim)}")
        allow = "  - " + "\n    ".join(keys)
    return f"{_instead(judged)}\nor, to start it all the same, under `allow`:\n{allow}"


def what(here: KeyPath, written: str) -> str:
    """A setting with its value, as a waiver names it: ``decode.env.NAME=512``."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in here).lstrip(".")
    return f"{path}={written}"


def quoted(text: str) -> str:
    """The text as YAML holds it on one line, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


def _instead(judged: Judged) -> str:
    verdict, declaration = judged.verdict, judged.by.declaration
    values = next((each.values for each in declaration.safe if each.values), ())
    if values:
        return f"{declaration.name}: {values[0]}"
    unset = f" ({declaration.default} is the default)" if declaration.default and verdict.outcome == "outside" else ""
    return f"{DELETE}{unset}"


def nobody_said(declaration: Declaration, knobs: EngineKnobs | None) -> str:
    """A knob that is described, but of whose values nothing is known."""
    harvested = knobs.env.get(declaration.name) if knobs else None
    facts = _facts(harvested) if harvested else declaration.about
    said = f"{facts},{_INDENT}but nobody has said which values are safe"
    return f"{said}{_INDENT}what would establish it: {declaration.establish}"


def only_harvested(knob: EnvKnob) -> str:
    """A variable that the engine knows and nobody declared."""
    return f"{_facts(knob)},{_INDENT}but nobody has said which values are safe"


def only_compiled(library: Place) -> str:
    """A variable that no source of the engine has, but one of its compiled libraries."""
    return (
        f"a compiled library of the engine has its name ({library}),{_INDENT}but nobody has said which values are safe"
    )


def _facts(knob: EnvKnob) -> str:
    place = _read_at(knob) or knob.declared
    default = f"{knob.default} if unset" if knob.default is not None else ""
    said = ", ".join(filter(None, (default, str(place) if place else "")))
    return f"the engine {'reads' if knob.reads else 'declares'} it{f' ({said})' if said else ''}"


def _read_at(knob: EnvKnob) -> Place | None:
    return next((read.place for read in knob.reads if read.place.part == "server"), None)


def declare(loaded: Loaded, here: KeyPath, written: str) -> str:
    """The command that admits this value and no other."""
    value = shlex.quote(written)
    return (
        f'pdlaunch declare {here[-1]} --value {value} --why "..." --profile {loaded.path}\n'
        f"it admits {written} and nothing else"
    )


def meant(name: str, names: list[str]) -> tuple[str, ...]:
    """What a variable was meant for, best first: names that are near, and those that differ in the prefix alone.

    How many letters they share decides between the two: UC_IB_SL is UCX_IB_SL, and not NCCL_IB_SL.
    """
    rest = name.partition("_")[2]
    found = {*nearest(name, names), *(each for each in names if rest and each.partition("_")[2] == rest)}
    alike = SequenceMatcher(b=name.lower())

    def likeness(each: str) -> float:
        alike.set_seq1(each.lower())
        return alike.ratio()

    return tuple(sorted(found, key=lambda each: (-likeness(each), each))[:3])


def unknown(loaded: Loaded, here: KeyPath, written: str, catalogue: Catalogue, knobs: EngineKnobs | None) -> Finding:
    """A variable of which neither the engine nor the catalogue knows, with the names that may be meant."""
    name = str(here[-1])
    declared = [each for each in catalogue.layers if catalogue.entries(each)[0].declaration.kind == "env"]
    near = meant(name, [*declared, *(knobs.env if knobs else ())])
    if near:
        error = f"nobody knows this variable; did you mean {' or '.join(near)}?"
        return Finding(here, error, f"{near[0]}: {loaded.lines.spelled(*here) or written}")
    return Finding(here, "nobody knows this variable, and nobody has declared it", declare(loaded, here, written))
