"""Everybody who has said something of one knob, what they say of a value together, and in whose words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from launcher.knobs.catalogue import Entry
from launcher.knobs.declaration import Bad, Claim, Declaration, Range
from launcher.knobs.judging import Context, Verdict, claims_about, judge_setting, safe_text, severity

_WORDS = frozenset({"true", "false", "0", "1"})


@dataclass(frozen=True, slots=True)
class Voices:
    """Those who speak of one knob, the shipped catalogue first and the profile's own declaration last."""

    entries: tuple[Entry, ...]
    mute: tuple[Entry, ...] = ()
    """Those of `entries` that are quoted and decide nothing here."""

    def __bool__(self) -> bool:
        """Whether there is anybody who decides."""
        return len(self.entries) > len(self.mute)

    @property
    def first(self) -> Declaration:
        """What is told of the knob as such."""
        return self.entries[0].declaration

    @property
    def safe(self) -> Mapping[str, tuple[str, ...]]:
        """Each safe range in words to the places that say so; who knows of none says nothing where others do."""
        said: dict[str, tuple[str, ...]] = {}
        for entry in [each for each in self.entries if each.declaration.known] or self.entries:
            text = safe_text(entry.declaration)
            said[text] = (*said.get(text, ()), entry.place)
        return said

    @property
    def hazard(self) -> str | None:
        """What goes wrong with a wrong value."""
        return next((each.declaration.hazard for each in self.entries if each.declaration.hazard), None)

    def judge(self, texts: Sequence[str], context: Context) -> Judged:
        """What is said of a setting that hands `texts` over; the worst word decides.

        A later voice narrows what an earlier one says and never widens it: whoever has an opinion has to admit it.
        """
        told = [(judge_setting(e.declaration, text, context), e) for text in texts for e in self.entries]
        deciding = [each for each in told if each[1] not in self.mute]
        spoken = [each for each in deciding if each[0].outcome != "unknown"] or deciding
        verdict, by = min(spoken, key=lambda each: severity(each[0]))
        return Judged(verdict, by, (*deciding, *(each for each in told if each[1] in self.mute)))


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of a value."""

    verdict: Verdict
    by: Entry
    """Whose word decides."""
    told: tuple[tuple[Verdict, Entry], ...] = ()
    """What each voice says."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What speaks for the verdict: first the claims of those who share it, nobody's that was taken back.

        What a profile says a bad value does, and says no more, is no claim beside that judgement.
        """
        judgements = {v.why for v, _ in self.told if v.outcome == "bad"}
        sharing = [(v, e.declaration) for v, e in self.told if v.outcome == self.verdict.outcome]
        others = [(v, e.declaration) for v, e in self.told if v.outcome != self.verdict.outcome]
        found = [claim for v, declaration in sharing for claim in claims_about(declaration, v)]
        found += [claim for v, declaration in (*sharing, *others) for claim in _standing(declaration)]
        return tuple(claim for claim in dict.fromkeys(found) if claim.says not in judgements)

    @property
    def claim(self) -> str:
        """What a waiver has to name of a value that is known bad: what it does, in its judge's words."""
        return self.verdict.why

    def names_claim(self, text: str) -> bool:
        """Whether `text` is what somebody says against the value, or the source of it."""
        against = [(v, e.declaration) for v, e in self.told if v.outcome == "bad"]
        said = [text for v, d in against for c in claims_about(d, v) for text in (c.says, c.source)]
        return _words(text) in set(map(_words, (*said, *(v.why for v, _ in against))))


def _standing(declaration: Declaration) -> Iterator[Claim]:
    return (claim for claim in declaration.claims if claim.status != "retracted")


def _words(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def own_entry(
    name: str,
    *,
    kind: Literal["env", "flag"],
    safe: Iterable[str],
    bad: Mapping[str, str],
    why: str | None,
    place: tuple[Path, int],
    type_: Literal["int", "float", "bool", "str", "list", "path", "json"] | None = None,
) -> Entry:
    """What a profile's own `knobs` says of a name, in the form of a catalogue's entry.

    `type_` is the catalogue's; without one the values that stand there say whether it is a switch.
    """
    file, line = place
    values = tuple(safe)
    listed = tuple(value for value in values if value != "unset")
    ranges = ((Range(values=listed),) if listed else ()) + ((Range(unset=True),) if len(listed) < len(values) else ())
    switch = bool(listed or bad) and {*listed, *bad} <= _WORDS
    says = why or next(iter(bad.values()), None) or f"safe: {', '.join(values) or 'not said'}"
    declaration = Declaration(
        name=name,
        kind=kind,
        component="profile",
        type=type_ or ("bool" if switch else "str"),
        about="declared by the profile itself",
        safe=ranges,
        establish=None if ranges else "say under `safe` which values are",
        bad=tuple(Bad(value=value, does=does, source=f"{file}:{line}") for value, does in bad.items()),
        claims=(Claim(says=says, source=f"{file}:{line}", status="inferred"),),
    )
    return Entry(declaration, file, line)
