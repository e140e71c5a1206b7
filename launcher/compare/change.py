"""One thing that differs: what, of which services, and its value and origin on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from launcher.plan.model import Origin

Kind: TypeAlias = Literal[
    "service",
    "args",
    "env",
    "secrets",
    "ports",
    "gpus",
    "run",
    "plan",
    "source",
    "package",
    "receipt",
    "decided",
    "file",
]
"""``run``: host and user. ``plan``: readiness, stopping, restarts, waivers. ``decided``: what an engine made of it by
itself. ``file``: a rendered file."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from."""

    value: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that differs; a side that has none is None."""

    kind: Kind
    name: str
    services: tuple[str, ...]
    """Those that it is the same change for; empty for what belongs to no service."""
    scope: str
    """Those services in a word: ``engine``, ``decode``, ``router``, ``prefill-1``; empty where there is none."""
    before: Setting | None
    after: Setting | None

    @property
    def subject(self) -> str:
        """``decode.env NCCL_DEBUG``, ``prefill-1``, ``package torch``."""
        match self.kind:
            case "service":
                return self.scope
            case "plan":
                return self.name
            case "source" | "package" | "receipt" | "file":
                return f"{self.kind} {self.name}".rstrip()
        return f"{self.scope}.{self.kind} {self.name}".rstrip()

    @property
    def values(self) -> tuple[str, str]:
        """Both values in words."""
        none = "absent" if self.kind in ("service", "source", "package", "file") else "unset"
        return (self.before.value if self.before else none, self.after.value if self.after else none)

    def mirrored(self) -> Change:
        """The same change seen from the other side."""
        return Change(self.kind, self.name, self.services, self.scope, self.after, self.before)

    def __str__(self) -> str:
        before, after = self.values
        return f"{self.subject}  {before} -> {after}"
