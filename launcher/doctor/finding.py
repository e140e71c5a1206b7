"""What a check says: how bad it is, what was seen, and what to type about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["blocker", "warning", "note", "ok"]
LEVELS: tuple[Level, ...] = ("blocker", "warning", "note", "ok")
"""Worst first. A blocker stops `up`: what it names fails, or serves something else than was asked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was seen."""

    level: Level
    code: str
    """The check's: ``DR105``."""
    text: str
    """One line."""
    fix: str | None = None
    """What to paste, or to write; None where there is nothing to do."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A check that was not made, and why it makes no sense here."""

    code: str
    title: str
    why: str
