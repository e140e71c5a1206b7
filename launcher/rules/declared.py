"""Settings against what has been declared: nothing starts of which nobody has said that it is safe."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from launcher.errors import Problem
from launcher.knobs import EngineKnobs
from launcher.knobs.catalogue import Catalogue
from launcher.knobs.judging import Context, judge_layers, worst
from launcher.profile import DELETE, ArgValue, Finding, KeyPath, Loaded, SiteKnob, allows, levels
from launcher.rules import declared_words as words


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
    of which `told` has an error already gets no second one, unless it is known bad and no rule has said so.
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
    def site(self) -> SiteKnob | None:
        return self.loaded.profile.knobs.get(self.name)

    @property
    def site_admits(self) -> bool:
        return self.site is not None and self.written in _safe(self.site)

    @property
    def site_refuses(self) -> bool:
        """Whether the profile's own declaration speaks against it; its own check says so."""
        return self.site is not None and (
            self.written in self.site.bad or (bool(_safe(self.site)) and not self.site_admits)
        )

    @property
    def simulated(self) -> bool:
        return self.loaded.profile.engine.kind == "simulator" and self.here[0] != "router"


def _safe(site: SiteKnob) -> tuple[str, ...]:
    return (site.safe,) if isinstance(site.safe, str) else site.safe or ()


def _texts(value: ArgValue) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("1" if value else "0",)
    return (value,) if isinstance(value, str) else value


def _setting(setting: _Setting, known: Known) -> Iterator[Finding]:
    entries = known.catalogue.entries(setting.name)
    section = "flag" if setting.here[-2] == "args" else "env"
    if setting.site_refuses:
        return
    if entries and entries[0].declaration.kind == section:
        if not setting.simulated:  # it is no engine: no kernel hangs, no card is there to be misled
            yield from _judged(setting, known)
    elif section == "env" and not setting.told and not setting.site_admits and not _allowed(setting):
        yield from _undeclared(setting, known)


def _allowed(setting: _Setting) -> bool:
    return allows(setting.loaded.profile, setting.here, setting.written)


def _judged(setting: _Setting, known: Known) -> Iterator[Finding]:
    entries = known.catalogue.entries(setting.name)
    context = _context(setting, known)
    judged = [judge_layers([each.declaration for each in entries], text, context) for text in setting.texts]
    verdict, by = worst(judged)
    if verdict.no_effect:
        yield Finding(setting.here, verdict.no_effect, DELETE, severity="warning")
    if verdict.admitted or _allowed(setting) or (setting.told and (setting.told.code or verdict.outcome != "bad")):
        return
    if verdict.outcome == "unknown":
        if by.kind == "env" and not setting.site_admits:
            error = words.nobody_said(by, known.knobs)
            yield Finding(setting.here, error, words.declare(setting.loaded, setting.here, setting.written))
        return
    place = next(each.place for each in entries if each.declaration is by)
    error = words.reasons(verdict, by, place)
    yield Finding(setting.here, error, words.ways_out(setting.here, setting.written, verdict, by, known.today))


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
    yield words.unknown(setting.loaded, setting.here, setting.written, known.catalogue, known.knobs)
