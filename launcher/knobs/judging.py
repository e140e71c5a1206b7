"""A value against what has been judged about its knob. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from launcher.knobs.declaration import Bad, Claim, Declaration, Range, When

Outcome: TypeAlias = Literal["safe", "bad", "outside", "untested", "unknown"]
_WORST_FIRST: tuple[Outcome, ...] = ("bad", "outside", "untested", "unknown", "safe")
_TRUE = frozenset({"1", "true", "yes", "y"})
_FALSE = frozenset({"0", "false", "no", "n"})


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the deployment around a setting; empty or None is not known."""

    roles: tuple[str, ...] = ()
    """The roles that get the setting."""
    gpus: tuple[str, ...] = ()
    """Models of the cards, as the driver spells them."""
    context_length: int | None = None
    engine: str | None = None
    """The engine's version."""
    transfer: str | None = None
    """The transfer backend; None where nothing is transferred."""
    model: str = ""
    """The model's path and name."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said about one value."""

    outcome: Outcome
    """``bad`` does harm; ``outside`` misses an interval, ``untested`` is one of which nobody has spoken beside those
    that are safe; ``unknown``: nobody has said which values are."""
    why: str = ""
    """What happens with a bad value; else what is safe."""
    source: str | None = None
    """Who says so, where a bad value names its claim."""
    no_effect: str | None = None
    """Why it has no effect here; None where it may have one."""

    @property
    def admitted(self) -> bool:
        """Whether the value may stand without a word."""
        return self.outcome == "safe"


def judge_setting(declaration: Declaration, value: str, context: Context) -> Verdict:
    """What is known of `value`, as it would be handed to the process, in `context`.

    Known bad comes before safe. A value that equals the default is as safe as not to set it, where nothing is known.
    """
    idle = no_effect(declaration, context)
    for bad in declaration.bad:
        if _is_bad(bad, value, declaration) and _holds(bad.when, context):
            return Verdict("bad", bad.does, bad.source, idle)
    said = safe_text(declaration)
    ranges = [each for each in declaration.safe if _holds(each.when, context)]
    if not ranges:
        pinned = declaration.default is not None and same(value, declaration.default, declaration.type)
        return Verdict("safe" if pinned else "unknown", said, None, idle)
    if any(_admits(each, value, declaration) for each in ranges):
        return Verdict("safe", said, None, idle)
    bounded = any(map(_bounded, ranges))
    return Verdict("outside" if bounded else "untested", said, None, idle)


def severity(verdict: Verdict) -> int:
    """How bad a verdict is; 0 is the worst. Of several words or speakers the worst decides."""
    return _WORST_FIRST.index(verdict.outcome)


def no_effect(declaration: Declaration, context: Context) -> str | None:
    """Why the knob has no effect in `context`; None where it may have one."""
    if context.roles and not set(context.roles) & set(declaration.roles):
        return f"has no effect on {' and '.join(context.roles)}: only {' and '.join(declaration.roles)} reads it"
    if context.transfer and declaration.transports and context.transfer not in declaration.transports:
        return f"has no effect with {context.transfer}: it belongs to {' and '.join(declaration.transports)}"
    return None


def safe_text(declaration: Declaration) -> str:
    """The safe range in words: ``60 to 3600 s``, ``unset``, ``unknown``."""
    if not declaration.known:
        return "unknown"
    unit = f" {declaration.unit}" if declaration.unit and any(_bounded(r) for r in declaration.safe) else ""
    return ", or ".join(map(str, declaration.safe)) + unit


def claims_about(declaration: Declaration, verdict: Verdict) -> list[Claim]:
    """The claims that speak for a verdict: the one that it names, else all that nobody has taken back."""
    named = [claim for claim in declaration.claims if claim.source == verdict.source]
    return named or [claim for claim in declaration.claims if claim.status != "retracted"]


def same(one: str, other: str, type_: str) -> bool:
    """Whether two texts are the same value to a reader of that type."""
    if type_ == "bool":
        left, right = one.lower(), other.lower()
        return left == right or {left, right} <= _TRUE or {left, right} <= _FALSE
    if type_ in ("int", "float"):
        left_number, right_number = _number(one), _number(other)
        if left_number is not None and right_number is not None:
            return left_number == right_number
    return one == other


def _bounded(each: Range) -> bool:
    return each.min is not None or each.max is not None


def _is_bad(bad: Bad, value: str, declaration: Declaration) -> bool:
    if bad.value is not None:
        return same(value, bad.value, declaration.type)
    return _within(value, bad.min, bad.max)


def _admits(each: Range, value: str, declaration: Declaration) -> bool:
    if each.unset:
        return False
    if each.values:
        return any(same(value, allowed, declaration.type) for allowed in each.values)
    if each.form is not None:
        return re.fullmatch(each.form, value) is not None
    return _within(value, each.min, each.max)


def _within(value: str, low: float | None, high: float | None) -> bool:
    number = _number(value)
    if number is None:
        return False
    return (low is None or number >= low) and (high is None or number <= high)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text) else None


def _holds(when: When, context: Context) -> bool:
    """Whether the condition is met, or may be."""
    return (
        _named(when.gpu, context.gpus)
        and _named(when.model, (context.model,) if context.model else ())
        and (not when.roles or not context.roles or not set(when.roles).isdisjoint(context.roles))
        and (
            when.context_above is None or context.context_length is None or context.context_length > when.context_above
        )
        and (not when.engine or context.engine is None or context.engine.startswith(when.engine))
        and (not when.transfer or context.transfer is None or context.transfer in when.transfer)
    )


def _named(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether one of the parts is in one of the names; without parts, or without names, nothing speaks against it."""
    return not parts or not names or any(part.lower() in name.lower() for part in parts for name in names)
