"""Flags and variables that stand outside any profile, such as a recipe's, against what an engine takes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TypeAlias

from launcher.knobs import Abbreviation, EngineKnobs, Flag, compiled_at, find_flag
from launcher.knobs.catalogue import Catalogue
from launcher.knobs.declaration import Declaration
from launcher.knobs.judging import Context, Verdict
from launcher.profile import ArgValue, Finding, KeyPath
from launcher.rules import declared_words as words
from launcher.rules.names import flag_name, is_engines_own, read_by_pattern, variable_name
from launcher.rules.parsed import refusal
from launcher.rules.typed import flag_value, variable_value
from launcher.rules.voices import voices

Findings: TypeAlias = tuple[Finding, ...]
_ROLES = ("prefill", "decode", "aggregated")


@dataclass(frozen=True, slots=True)
class Block:
    """What one server is told."""

    id: str
    role: str
    env: Mapping[str, str | None] = field(default_factory=dict)
    """None where a variable is not set."""
    args: Mapping[str, ArgValue] = field(default_factory=dict)
    """By flag, without its dashes; a list is several words after one flag, False a flag that is not written."""


@dataclass(frozen=True, slots=True)
class Linted:
    """What an engine makes of a block."""

    id: str
    rejected_args: Mapping[str, str]
    """Flags that the engine's parser refuses, with the reason in its own words: ``ambiguous``, ``unrecognized``."""
    unknown_env: tuple[str, ...]
    """Variables in the engine's own namespace that it does not know."""
    undeclared_env: tuple[str, ...]
    """Other variables that nobody has declared."""
    findings: Findings
    """What is wrong with each, what is declared bad, and what the engine takes for something else."""


class Linter:
    """Judges blocks against the engine that `knobs` were harvested from, and against what has been declared.

    Recipes repeat each other, and to look for the nearest names is slow: what was judged once is kept.
    """

    def __init__(self, knobs: EngineKnobs, catalogue: Catalogue) -> None:
        self._knobs = knobs
        self._catalogue = catalogue
        self._meant: Callable[[str], Flag | None] = cache(partial(_meant, knobs))
        self._refusal: Callable[[str, ArgValue], str | None] = cache(partial(refusal, knobs))
        self._flag: Callable[[KeyPath, ArgValue, str | None], Findings] = cache(partial(_flag, knobs))
        self._variable: Callable[[KeyPath, str], Findings] = cache(partial(_variable, knobs))

    def lint(self, block: Block) -> Linted:
        """What the engine makes of one block.

        An error is what the engine refuses, does not know or is known to do harm; a warning stops nothing.
        """
        knobs, catalogue = self._knobs, self._catalogue
        rejected = {name: reason for name, value in block.args.items() if (reason := self._refusal(name, value))}
        given = {name: value for name, value in block.env.items() if value is not None}
        findings = [
            *(self._flag((block.role, "args", name), value, rejected.get(name)) for name, value in block.args.items()),
            tuple(self._twice(block)),
            *(self._variable((block.role, "env", name), value) for name, value in given.items()),
            tuple(self._judged(block, given)),
        ]
        return Linted(
            block.id,
            rejected,
            tuple(sorted(name for name in given if is_engines_own(name) and not _knows(knobs, name))),
            tuple(sorted(name for name in given if not is_engines_own(name) and name not in catalogue)),
            tuple(found for each in findings for found in each),
        )

    def _twice(self, block: Block) -> Iterator[Finding]:
        """One flag under two names: the engine takes the later one without a word."""
        first: dict[str, str] = {}
        for name, value in block.args.items():
            flag = self._meant(name)
            if flag is None or value is None or value is False:
                continue
            other = first.setdefault(flag.name, name)
            if other != name:
                error = f"{other} says the same flag; the engine takes the later one without a word"
                yield Finding((block.role, "args", name), error, severity="warning")

    def _judged(self, block: Block, given: Mapping[str, str]) -> Iterator[Finding]:
        """What has been declared of the values, and which of the engine's variables nobody has declared."""
        context = self._context(block)
        for name, value in given.items():
            here: KeyPath = (block.role, "env", name)
            if name in self._catalogue:
                yield from _declared(here, name, (value,), self._catalogue, context)
            elif name in self._knobs.env and is_engines_own(name):
                yield Finding(here, words.only_harvested(self._knobs.env[name]), severity="warning")
        for name, arg in block.args.items():
            flag = self._meant(name)
            if flag and flag.name in self._catalogue:
                yield from _declared((block.role, "args", name), flag.name, _texts(arg), self._catalogue, context)

    def _context(self, block: Block) -> Context:
        told = {flag.name: arg for name, arg in block.args.items() if (flag := self._meant(name))}
        length, transfer, model = (
            value if isinstance(value := told.get(name), str) else None
            for name in ("context-length", "disaggregation-transfer-backend", "model-path")
        )
        return Context(
            roles=(block.role,) if block.role in _ROLES else (),
            context_length=int(length) if length and length.isdecimal() else None,
            engine=self._knobs.version,
            transfer=transfer,
            model=model or "",
        )


def _knows(knobs: EngineKnobs, name: str) -> bool:
    """Whether the engine declares, reads or sets the variable, or the one that an old prefix is rewritten to."""
    renamed = (new + name.removeprefix(old) for old, new in knobs.legacy_prefixes.items() if name.startswith(old))
    names = (name, *renamed)
    return compiled_at(knobs, name) is not None or any(n in knobs.env or read_by_pattern(n, knobs) for n in names)


def _flag(knobs: EngineKnobs, here: KeyPath, value: ArgValue, reason: str | None) -> Findings:
    """What is wrong with a flag that the parser refuses for `reason`; what it takes all the same is a warning."""
    name = str(here[-1])
    named = tuple(flag_name(here, name, _spelled(value), knobs))
    flag = _meant(knobs, name)
    if reason is None or (flag and not flag.refused):
        named = tuple(Finding(each.path, each.error, each.write, severity="warning") for each in named)
    if reason is None or any(each.severity == "error" for each in named):
        return named
    valued = tuple(flag_value(here, value, flag)) if flag else ()
    return (*named, *(valued or (Finding(here, f"the engine's parser refuses it: {reason}"),)))


def _variable(knobs: EngineKnobs, here: KeyPath, value: str) -> Findings:
    name = str(here[-1])
    knob = knobs.env.get(name)
    typed = variable_value(here, value, knob, knob.reader) if knob and knob.reader else ()
    return (*variable_name(here, name, value, knobs), *typed)


def _declared(
    here: KeyPath, name: str, texts: tuple[str, ...], catalogue: Catalogue, context: Context
) -> Iterator[Finding]:
    heard = voices(name, "flag" if here[-2] == "args" else "env", catalogue, None)
    if not heard or not texts:
        return
    judged = heard.judge(texts, context)
    verdict, by = judged.verdict, judged.by.declaration
    if verdict.no_effect:
        yield Finding(here, verdict.no_effect, severity="warning")
    if verdict.outcome == "unknown":
        if by.kind == "env":
            yield Finding(here, words.nobody_said(by, None), severity="warning")
    elif not verdict.admitted:
        when = _when(verdict, by)
        said = words.reasons(heard, judged, None)
        error = f"{when}: {said}" if when else said
        # A recipe has no list of waivers: it is told what is untested, and what does harm on some cards or models.
        yield Finding(here, error, severity="error" if verdict.outcome == "bad" and not when else "warning")


def _when(verdict: Verdict, by: Declaration) -> str:
    """The condition under which a value is bad; a recipe does not say on which cards or with which model it runs."""
    conditions = [str(bad.when) for bad in by.bad if verdict.outcome == "bad" and bad.does == verdict.why]
    return " or ".join(dict.fromkeys(conditions)) if all(conditions) else ""


def _meant(knobs: EngineKnobs, name: str) -> Flag | None:
    """The flag that the parser takes the name for."""
    found = find_flag(knobs, name)
    if isinstance(found, Abbreviation) and not found.ambiguous:
        found = find_flag(knobs, found.candidates[0])
    return found if isinstance(found, Flag) else None


def _texts(value: ArgValue) -> tuple[str, ...]:
    match value:
        case None | False:
            return ()
        case True:
            return ("1",)
        case str():
            return (value,)
        case _:
            return value


def _spelled(value: ArgValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "~"
        case str():
            return value
        case _:
            return f"[{', '.join(value)}]"
