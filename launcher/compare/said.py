"""What has been declared of a knob that differs, and of its value on each side: range, hazard, claims, waiver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from launcher.compare.change import Change, Setting
from launcher.compare.risk import Risk, risk_of
from launcher.compare.side import Side
from launcher.knobs.catalogue import Catalogue
from launcher.knobs.declaration import Claim, Declaration
from launcher.knobs.judging import Context, Outcome
from launcher.knobs.voices import Voices
from launcher.profile import Waiver
from launcher.rules.voices import voices

_ALARMS: tuple[tuple[Outcome, ...], ...] = (("bad",), ("outside", "untested"))
_SPELLINGS = (("1", "true"), ("0", "false"), ("on", "true"))
"""What a waiver may call a value that a process gets as the first of them."""


@dataclass(frozen=True, slots=True)
class SaidOfValue:
    """What is known of one side's value."""

    outcome: Outcome
    why: str
    """What happens with a bad value; else what is safe."""
    claims: tuple[Claim, ...] = ()
    """What speaks for that, best first."""
    waiver: Waiver | None = None
    """Who allows it all the same."""

    @property
    def alarm(self) -> int:
        """0 for a value that is known bad, 1 for one that nobody calls safe, 2 for any other."""
        return next((rank for rank, outcomes in enumerate(_ALARMS) if self.outcome in outcomes), len(_ALARMS))


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of the knob; a side that does not set it, or where the launcher decides it, is None."""

    about: str
    """What it does."""
    safe: tuple[tuple[str, tuple[str, ...]], ...]
    """Each safe range in words, and the places that say so."""
    hazard: str | None
    before: SaidOfValue | None
    after: SaidOfValue | None

    @property
    def alarm(self) -> int:
        """That of the worse value: a change to a danger and the way back from it rank alike."""
        return min((side.alarm for side in (self.before, self.after) if side), default=len(_ALARMS))

    def mirrored(self) -> Said:
        """The same seen from the other side."""
        return replace(self, before=self.after, after=self.before)


def judge_of(known: Catalogue, before: Side, after: Side) -> Callable[[Change], Risk]:
    """How dangerous a change from `before` to `after` is, by its kind and by what has been declared of its values."""

    def judge(change: Change) -> Risk:
        risk = risk_of(change)
        said = said_of(change, known, before, after)
        return replace(risk, alarm=said.alarm, said=said) if said else risk

    return judge


def said_of(change: Change, known: Catalogue, before: Side, after: Side) -> Said | None:
    """What has been declared of a flag or variable that differs; None for anything else, and where nobody has spoken.

    Each value is judged as what surrounds it on its own side: role, cards, context length, engine.
    """
    if change.kind not in ("args", "env"):
        return None
    kind: Literal["env", "flag"] = "flag" if change.kind == "args" else "env"
    heard = [_voices(change.name, kind, known, side, change) for side in (before, after)]
    spoken = next((each for each in reversed(heard) if each.entries), None)
    if spoken is None or change.name == "program":
        return None
    return Said(
        about=spoken.first.about,
        safe=tuple(spoken.safe.items()),
        hazard=spoken.hazard,
        before=_judged(change.before, change, heard[0], before),
        after=_judged(change.after, change, heard[1], after),
    )


def _voices(name: str, kind: Literal["env", "flag"], known: Catalogue, side: Side, change: Change) -> Voices:
    simulated = side.plan.engine.kind == "simulator" and "router" not in change.services
    return voices(name, kind, known, side.written(name), simulated=simulated)


def _judged(setting: Setting | None, change: Change, heard: Voices, side: Side) -> SaidOfValue | None:
    if setting is None or not heard or (setting.origin and setting.origin.kind not in ("profile", "adopted")):
        return None
    judged = heard.judge(_texts(setting.value, heard.first), _context(change, heard, side))
    verdict = judged.verdict
    return SaidOfValue(verdict.outcome, verdict.why, judged.claims, waiver_of(change, setting.value, side))


def _texts(value: str, declaration: Declaration) -> tuple[str, ...]:
    """The words that a process gets, from a value as a comparison shows it."""
    if value == "on" and declaration.kind == "flag":
        return ("1",)
    return tuple(value.split()) if declaration.kind == "flag" and declaration.type == "list" else (value,)


def _context(change: Change, heard: Voices, side: Side) -> Context:
    plan = side.plan
    roles = {service.name: service.role for service in plan.services}
    declared = [entry.declaration for entry in heard.entries]
    cards_matter = any(b.when.gpu for d in declared for b in d.bad) or any(r.when.gpu for d in declared for r in d.safe)
    return Context(
        roles=tuple(dict.fromkeys(roles[name] for name in change.services if name in roles)),
        gpus=side.gpus if cards_matter else (),  # a receipt is read only where it decides
        context_length=plan.context,
        engine=plan.engine.version,
        transfer=None if "aggregated" in roles.values() else plan.transfer,
        model=f"{plan.model_path} {plan.model_name}",
    )


def waiver_of(change: Change, value: str, side: Side) -> Waiver | None:
    """The waiver that names this setting with this value, at whatever level of the profile it stands."""
    spellings = {"", *next((words for words in _SPELLINGS if value in words), (value,))}
    for waiver in side.plan.allowed:
        path, _, given = waiver.what.partition("=")
        *_, kind, name = ("", "", *path.split("."))
        if (
            (kind, name) == (change.kind, change.name)
            and given in spellings
            and _reaches(path.partition(".")[0], change)
        ):
            return waiver
    return None


def _reaches(level: str, change: Change) -> bool:
    """Whether what a profile says at `level` reaches one of the services."""
    if level == "engine":
        return any(name != "router" for name in change.services)
    return any(name.partition("-")[0] == level for name in change.services)
