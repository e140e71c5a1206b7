"""What a check is: a code, what must hold, who says so, when it makes sense, and the judgement itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from launcher.doctor.facts import Facts
from launcher.doctor.finding import Finding
from launcher.observe.card import Cards

Sense: TypeAlias = Callable[[Facts], str | None]
"""Why a check makes no sense for these facts; None where it does."""


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold of a machine before a deployment can serve on it."""

    code: str
    """``DRnnn``: stable, and what a waiver names."""
    title: str
    """What must hold, in one sentence."""
    source: str
    """Who says so: documentation, an issue, a place in the engine's source, or a measurement."""
    judge: Callable[[Facts], Iterable[Finding]]
    makes_sense: Sense
    before_up: bool = False
    """Whether `up` makes it too: it is quick, and what it finds ends a start late or badly."""


def always(_: Facts) -> str | None:
    """For every machine."""
    return None


def with_a_plan(facts: Facts) -> str | None:
    """For what a profile says."""
    return None if facts.plan else "no profile or deployment was named"


def with_cards(facts: Facts) -> str | None:
    """For deployments that use cards, and for a machine that is looked at alone."""
    what = {"cpu": "the CPU engine", "simulator": "the simulator"}.get(facts.kind or "")
    return f"{what} uses no card" if what else None


def with_cards_that_answer(facts: Facts) -> str | None:
    """For what only the driver can tell."""
    if reason := with_cards(facts):
        return reason
    return None if isinstance(facts.cards, Cards) else "the driver does not answer"


def with_an_engine(facts: Facts) -> str | None:
    """For real SGLang."""
    if reason := with_a_plan(facts):
        return reason
    return "the simulator is part of pdlaunch" if facts.kind == "simulator" else None
