"""What an operation tells while it works: events, which somebody else prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    subject: str
    """A service, or a step of the whole: ``checked``, ``recorded``, ``token``, ``up``."""
    text: str
    seconds: float | None = None
    """How long it took."""
    eta: float | None = None
    """Seconds that are left by this machine's earlier starts, where they are known."""
    passing: bool = False
    """Whether the next event of the subject replaces it: for a terminal's last line."""


Report: TypeAlias = Callable[[Event], None]


def silent(_event: Event) -> None:
    """Tells nobody."""
