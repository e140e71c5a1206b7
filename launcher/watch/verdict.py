"""What a look at a deployment came to: each service's standing, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Standing: TypeAlias = Literal["idle", "busy", "waiting", "loading", "silent", "hung", "dead"]
"""``busy``: it has work and gets on with it. ``waiting``: it has work, and another service has to get on with it.
``silent``: it answers nothing and nobody waits for it. ``dead``: it, or a process that it needs, is gone."""
Weight: TypeAlias = Literal["hung", "dead", "warning"]
"""Only what is ``hung`` is acted on: what died is the supervisor's to start again."""
State: TypeAlias = Literal["idle", "busy", "loading", "degraded", "hung", "dead", "changing", "stopped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    signature: str
    """Which of the known ways it is: ``no-token``."""
    service: str
    weight: Weight
    words: str
    """A sentence without the service's name: ``6 requests running, no token for 12 s``."""
    since: float
    """When it began, seconds since the epoch."""
    partners: tuple[str, ...] = ()
    """What has to be started again together with `service`."""

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same one in the next look."""
        return self.signature, self.service

    def __str__(self) -> str:
        return f"{self.service} {self.weight}: {self.words}"


@dataclass(frozen=True, slots=True)
class Service:
    """One service as it stands."""

    name: str
    standing: Standing
    requests: int
    """That it has, as far as it says."""
    progress: float | None
    """When it last got on with its work, seconds since the epoch; None where that was never seen."""
    words: str = ""
    """What it does: ``12,288 prompt tokens in 2 s``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The whole of one look."""

    time: float
    """Seconds since the epoch."""
    generation: int
    state: State
    services: Mapping[str, Service]
    findings: tuple[Finding, ...] = ()

    @property
    def hung(self) -> tuple[Finding, ...]:
        """What would be acted on."""
        return tuple(finding for finding in self.findings if finding.weight == "hung")
