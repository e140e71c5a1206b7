"""What is said of a setting that nobody declared, or that a declaration does not admit, and what to type."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from difflib import SequenceMatcher

from launcher.knobs import EngineKnobs, EnvKnob, nearest
from launcher.knobs.catalogue import Catalogue
from launcher.knobs.declaration import Declaration
from launcher.knobs.judging import Verdict, claims_about, safe_text
from launcher.profile import DELETE, Finding, KeyPath, Loaded

_INDENT = "\n         "
_CLAIMS = 3
"""Claims told with a problem; `explain` tells all."""
_HOLDS_FOR = dt.timedelta(days=7)


def reasons(verdict: Verdict, declaration: Declaration, place: str) -> str:
    """Why a value is not admitted: the judgement, the hazard, and who says so."""
    first = {
        "bad": f"known bad: {verdict.why}",
        "outside": f"outside the safe range, {verdict.why}",
        "untested": "untested: nobody has said that this value is safe",
    }[verdict.outcome]
    lines = [first, f"safe: {safe_text(declaration)}     catalogue: {place}"]
    if declaration.hazard and verdict.outcome != "bad":
        lines.append(f"hazard: {declaration.hazard}")
    for claim in claims_about(declaration, verdict)[:_CLAIMS]:
        where = ", ".join(filter(None, (claim.date, claim.hardware)))
        lines.append(f"{claim.status}: {claim.says}{f' ({where})' if where else ''}  {claim.source}")
    return _INDENT.join(lines)


def ways_out(here: KeyPath, written: str, verdict: Verdict, declaration: Declaration, today: dt.date | None) -> str:
    """The line to write instead, and the waiver that it takes to start all the same."""
    until = (today + _HOLDS_FOR).isoformat() if today else "YYYY-MM-DD"
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in here).lstrip(".")
    what = f"{path}={written}"
    plain = re.fullmatch(r"[A-Za-z0-9_.=/+-]+", what)
    allow = f'- {{what: {what if plain else _single(what)}, why: "...", by: "...", until: {until}}}'
    return f"{_instead(verdict, declaration)}\nor, to start it all the same, under `allow`:\n  {allow}"


def _single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _instead(verdict: Verdict, declaration: Declaration) -> str:
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


def _facts(knob: EnvKnob) -> str:
    place = next((read.place for read in knob.reads if read.place.part == "server"), knob.declared)
    default = f"{knob.default} if unset" if knob.default is not None else ""
    said = ", ".join(filter(None, (default, str(place) if place else "")))
    return f"the engine {'reads' if knob.reads else 'declares'} it{f' ({said})' if said else ''}"


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
