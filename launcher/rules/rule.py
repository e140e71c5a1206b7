"""What a rule is: a code, a reason with its source, a check, and an example of each outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from launcher.rules.view import View


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule's objection to one setting of one service."""

    service: str
    section: str
    """``args`` or ``env``."""
    name: str
    error: str
    write: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Settings that are fine alone and wrong together, or wrong for what stands around them."""

    code: str
    """``PDnnn``: stable, and what a waiver names."""
    title: str
    """What must hold, in one sentence."""
    source: str
    """Who says so: a place in the engine's source, an issue, or a measurement."""
    check: Callable[[View], Iterable[Hit]]
    good: View
    bad: View
    severity: str = "error"
