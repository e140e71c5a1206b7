"""Settings against what has been declared: nothing starts of which nobody has said that it is safe."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from launcher.errors import Problem
from launcher.knobs import EngineKnobs, compiled_at
from launcher.knobs.catalogue import Catalogue
from launcher.knobs.judging import Context
from launcher.knobs.voices import Judged, Voices
from launcher.profile import DELETE, ArgValue, Finding, KeyPath, Loaded, Waiver, levels
from launcher.rules import declared_words as words
from launcher.rules.voices import voices


@dataclass(frozen=True, slots=True)
class Known:
    """What settings are checked against."""

    catalogue: Catalogue
    knobs: EngineKnobs | None = None
    """The engine's, as harvested; None where it is not on this machine."""
    gpus: tuple[str, ...] = ()
    """Models of the machine's cards; empty where they are not known."""
    today: dt.date | None = None
    """For the last day of a waiver that is proposed; None leaves it to the reader."""


def check_declared(loaded: Loaded, known: Known, told: Iterable[Problem] = ()) -> list[Problem]:
    """Variables that nobody declared, and values of variables and flags that nobody calls safe. Pure.

    An entry under `allow` that names the setting with its value admits it; one under `knobs` admits the values that it
    calls safe of a knob of which the catalogue says nothing, and narrows what the catalogue says of others. A setting
    of which `told` has an error already gets no second one, unless it is known bad and no rule has said so. A waiver
    of a value that is known bad is to name the claim that it sets aside.
    """
    errors = {(each.where, each.subject): each for each in told if each.severity == "error"}
    findings: list[Finding] = []
    for path, level in levels(loaded.profile):
        for section, values in (("env", level.env), ("args", level.args)):
            for name, value in values.items():
                here: KeyPath = (*path, section, name)
                said = loaded.problem(Finding(here, ""))
                setting = _Setting(loaded, here, _texts(value), errors.get((said.where, said.subject)))
                if setting.texts:
                    findings += _setting(setting, known)
    return [loaded.problem(finding) for finding in findings]


@dataclass(frozen=True, slots=True)
class _Setting:
    loaded: Loaded
    here: KeyPath
    texts: tuple[str, ...]
    """The words that a process gets; none where the value is taken away."""
    told: Problem | None
    """The error that somebody has said of it already."""

    @property
    def name(self) -> str:
        return str(self.here[-1])

    @property
    def written(self) -> str:
        return self.loaded.lines.written(*self.here) or self.texts[0]

    @property
    def waiver(self) -> tuple[int, Waiver] | None:
        """The entry under `allow` that names the setting with its value, and its place in the list."""
        what = words.what(self.here, self.written)
        return next(((at, each) for at, each in enumerate(self.loaded.profile.allow) if each.what == what), None)

    @property
    def simulated(self) -> bool:
        return self.loaded.profile.engine.kind == "simulator" and self.here[0] != "router"


def _texts(value: ArgValue) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("1" if value else "0",)
    return (value,) if isinstance(value, str) else value


def _setting(setting: _Setting, known: Known) -> Iterator[Finding]:
    section: Literal["env", "flag"] = "flag" if setting.here[-2] == "args" else "env"
    heard = voices(setting.name, section, known.catalogue, setting.loaded, simulated=setting.simulated)
    if heard:
        yield from _judged(setting, heard, known)
    elif section == "env" and not (heard.entries or setting.told or setting.waiver):
        yield from _undeclared(setting, known)


def _judged(setting: _Setting, heard: Voices, known: Known) -> Iterator[Finding]:
    judged = heard.judge(setting.texts, _context(setting, known))
    verdict = judged.verdict
    if verdict.no_effect:
        yield Finding(setting.here, verdict.no_effect, DELETE, severity="warning")
    if verdict.admitted:
        return
    if setting.waiver:
        yield from _names_claim(*setting.waiver, judged)
    elif verdict.outcome == "unknown":
        if heard.first.kind == "env" and not setting.told:
            error = words.nobody_said(judged.by.declaration, known.knobs)
            yield Finding(setting.here, error, words.declare(setting.loaded, setting.here, setting.written))
    elif not setting.told or (verdict.outcome == "bad" and not setting.told.code):
        error = words.reasons(heard, judged, setting.loaded.path, known.knobs)
        yield Finding(setting.here, error, words.ways_out(setting.here, setting.written, judged, known.today))


def _names_claim(index: int, waiver: Waiver, judged: Judged) -> Iterator[Finding]:
    """Whoever sets a known danger aside says which: it shows wherever the waiver does."""
    if judged.verdict.outcome != "bad":
        return
    write = f"claim: {words.quoted(judged.claim)}"
    if waiver.claim is None:
        error = f"names no claim, and this value is known bad: {judged.claim}"
        yield Finding(("allow", index, "what"), error, write, severity="warning")
    elif not judged.names_claim(waiver.claim):
        yield Finding(("allow", index, "claim"), "nobody claims this of the value", write)


def _context(setting: _Setting, known: Known) -> Context:
    profile = setting.loaded.profile
    roles = tuple(role for role in ("prefill", "decode", "aggregated") if getattr(profile, role) is not None)
    length = profile.engine.args.get("context-length")
    return Context(
        roles=roles if setting.here[0] == "engine" else (str(setting.here[0]),),
        gpus=known.gpus,
        context_length=int(length) if isinstance(length, str) and length.isdecimal() else None,
        engine=known.knobs.version if known.knobs else profile.engine.version,
        transfer=None if profile.aggregated else profile.transfer,
        model=f"{profile.model.path or ''} {profile.model.name}",
    )


def _undeclared(setting: _Setting, known: Known) -> Iterator[Finding]:
    harvested = known.knobs.env.get(setting.name) if known.knobs and setting.here[0] != "router" else None
    if harvested is not None:
        if not setting.simulated:
            error = words.only_harvested(harvested)
            yield Finding(setting.here, error, words.declare(setting.loaded, setting.here, setting.written))
        return
    library = compiled_at(known.knobs, setting.name) if known.knobs and setting.here[0] != "router" else None
    if library is not None:
        error = words.only_compiled(library)
        yield Finding(setting.here, error, words.declare(setting.loaded, setting.here, setting.written))
        return
    yield words.unknown(setting.loaded, setting.here, setting.written, known.catalogue, known.knobs)
