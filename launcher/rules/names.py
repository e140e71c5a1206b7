"""Flag and variable names of a profile against what the engine and the router know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from launcher.errors import Problem
from launcher.knobs import Abbreviation, EngineKnobs, EnvKnob, Flag, Unknown, compiled_at, find_flag, flipped, nearest
from launcher.profile import DELETE, Finding, KeyPath, Loaded, levels

_ENGINES_OWN = ("SGLANG_", "SGL_")
_TRUE, _FALSE = {"1", "true", "yes", "y"}, {"0", "false", "no", "n"}
_NO_EFFECT = {"unread", "read-as", "tests-only", "removed", "renamed"}
"""Remarks on a declared variable after which setting it is a mistake; the others depend on the machine."""


def check_names(
    loaded: Loaded, knobs: EngineKnobs, router: EngineKnobs | None = None, declared: Iterable[str] = ()
) -> list[Problem]:
    """Names that the engine (or the router) refuses, does not know, or has under another name now.

    `knobs` are the engine's, `router` the router's; without the latter its flags are not judged. `declared` has the
    names that a catalogue knows, which may have been meant as well. Pure.
    """
    findings: list[Finding] = []
    others = [name for name in (*loaded.profile.knobs, *declared) if is_engines_own(name)]
    for path, level in levels(loaded.profile):
        known = router if path == ("router",) else knobs
        for name in level.args:
            here: KeyPath = (*path, "args", name)
            if known and name not in loaded.profile.knobs:
                findings += flag_name(here, name, loaded.lines.spelled(*here) or "...", known)
        for name in level.env:
            here = (*path, "env", name)
            if name not in loaded.profile.knobs:
                findings += variable_name(here, name, loaded.lines.spelled(*here) or "...", knobs, others)
    return [loaded.problem(finding) for finding in findings]


def flag_name(here: KeyPath, name: str, value: str, knobs: EngineKnobs) -> Iterator[Finding]:
    """What is wrong with a flag of this name; `value` as it would be written."""
    engine = f"{knobs.engine} {knobs.version or ''}".strip()
    match find_flag(knobs, name):
        case Flag() as flag if name in flag.negations:
            yield Finding(here, f"the opposite of {flag.name}; one spelling per thing", f"{flag.name}: false")
        case Flag(refused=True) as flag:
            yield Finding(here, f"refused by {engine}: {_said(flag)}", _instead(flag))
        case Flag() as flag if name != flag.name:
            yield Finding(here, f"another spelling of {flag.name}; one spelling per thing", f"{flag.name}: {value}")
        case Flag(deprecated=str()) as flag:
            yield Finding(here, f"{engine} says: {flag.deprecated}", _instead(flag), severity="warning")
        case Abbreviation(ambiguous=True, candidates=candidates):
            error = f"refused by {engine} as ambiguous: {' or '.join(candidates)}"
            yield Finding(here, error, _likely(candidates, here, value))
        case Abbreviation(candidates=(full, *_)):
            yield Finding(here, f"an abbreviation of {full}; full flag names only", f"{full}: {value}")
        case Unknown() if opposite := flipped(name, _switches(knobs)):
            error = f"no flag of {engine}; {opposite} says the opposite"
            yield Finding(here, error, _turned(opposite, value))
        case Unknown(nearest=near):
            known_as = f"; did you mean {' or '.join(near)}?" if near else ""
            # The simulator takes any flag and records it: a name that is near none is no slip.
            severity = "warning" if knobs.engine == "simulator" and not near else "error"
            write = f"{near[0]}: {value}" if near else DELETE
            yield Finding(here, f"no flag of {engine}{known_as}", write, severity=severity)


def _switches(knobs: EngineKnobs) -> list[str]:
    return [flag.name for flag in knobs.flags.values() if not flag.takes_value]


def _likely(candidates: tuple[str, ...], here: KeyPath, value: str) -> str:
    """A flag that was split by role: on a decode its decode half is meant."""
    full = next((c for c in candidates if c.endswith(f"-{here[0]}")), candidates[0])
    return f"{full}: {value}"


def _said(flag: Flag) -> str:
    return flag.deprecated or (flag.help if isinstance(flag.help, str) else "") or "it was removed"


def _instead(flag: Flag) -> str | None:
    if not flag.replaced_by:
        return DELETE if flag.refused else None
    name, equals, value = flag.replaced_by.lstrip("-").partition("=")
    return f"{name}: {value}" if equals else name.replace(" ", ": ", 1)


def variable_name(
    here: KeyPath, name: str, value: str, knobs: EngineKnobs, others: Iterable[str] = ()
) -> Iterator[Finding]:
    """What is wrong with a variable of this name; `value` as it would be written, `others` what else may be meant."""
    legacy = next((prefix for prefix in knobs.legacy_prefixes if name.startswith(prefix)), None)
    if name not in knobs.env and compiled_at(knobs, name):
        return  # nobody has to declare it in Python for a library to read it
    full = knobs.legacy_prefixes[legacy] + name.removeprefix(legacy) if legacy else ""
    if full in knobs.env and name not in knobs.env:  # some are read under the old name itself, and some are no name
        yield Finding(here, f"the old spelling: at the start it overwrites {full}", f"{full}: {value}")
        return
    knob = knobs.env.get(name)
    if knob is not None:
        yield from _known(here, knob, value)
    # Who reads what is known only of a harvest that went through the whole tree; others' names are not the engine's.
    elif knobs.whole and is_engines_own(name) and not read_by_pattern(name, knobs):
        yield from _unknown(here, name, value, knobs, others)


def _unknown(here: KeyPath, name: str, value: str, knobs: EngineKnobs, others: Iterable[str]) -> Iterator[Finding]:
    engine = f"{knobs.engine} {knobs.version or ''}".strip()
    place = knobs.mentions.get(name)
    only = f" (only mentioned, {place})" if place else ""
    opposite = flipped(name, (other for other, knob in knobs.env.items() if knob.kind == "bool"))
    if opposite:
        error = f"{engine} neither declares nor reads it{only}; {opposite} says the opposite"
        yield Finding(here, error, _turned(opposite, value))
        return
    near = _near(name, set(others), knobs)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    write = f"{near[0]}: {value}" if near else f"{DELETE}, or declare {name} under `knobs`"
    yield Finding(here, f"{engine} neither declares nor reads it{only}{meant}", write)


def _near(name: str, others: set[str], knobs: EngineKnobs) -> tuple[str, ...]:
    """What may have been meant, best what has an effect; nothing for a name that is known from elsewhere."""
    if name in others:
        return ()
    useful = {other for other, knob in knobs.env.items() if _has_effect(knob)}
    return nearest(name, useful | others) or nearest(name, knobs.env)


def _has_effect(knob: EnvKnob) -> bool:
    return not knob.replaced_by and not any(remark.code in _NO_EFFECT for remark in knob.remarks)


def _turned(name: str, value: str) -> str:
    """The line with the opposite value: the same one would do the opposite of what was meant."""
    if value.lower() in _TRUE | _FALSE:
        return f"{name}: {'false' if value.lower() in _TRUE else 'true'}"
    return f"{name}: ..."


def _known(here: KeyPath, knob: EnvKnob, value: str) -> Iterator[Finding]:
    if knob.replaced_by:
        error = f"its name is {knob.replaced_by} now; the old one is only forwarded"
        yield Finding(here, error, f"{knob.replaced_by}: {value}")
        return
    if knob.deprecated is not None:
        yield Finding(here, f"deprecated by the engine: {knob.deprecated}".rstrip(": "), DELETE, severity="warning")
    for remark in knob.remarks:
        place = f"  {remark.place}" if remark.place else ""
        if remark.code in _NO_EFFECT:
            yield Finding(here, f"no effect: {remark.text}{place}", DELETE)
        else:
            yield Finding(here, f"may have no effect: {remark.text}{place}", severity="warning")


def is_engines_own(name: str) -> bool:
    """Whether the variable is in the engine's own namespace, where a name that it does not know is a mistake."""
    return name.startswith(_ENGINES_OWN)


def read_by_pattern(name: str, knobs: EngineKnobs) -> bool:
    """Whether the engine reads names that it computes, and this may be one."""
    patterns = (read.pattern for read in knobs.dynamic if read.pattern)
    return any(fnmatchcase(name, pattern) for pattern in patterns if pattern.strip("*"))
