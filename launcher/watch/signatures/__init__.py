"""The ways in which a deployment is known to stop serving, one module each, the surest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from launcher.watch.scene import Scene
from launcher.watch.signatures import (
    circuit,
    died,
    floor,
    frozen_transfer,
    lost_half,
    no_token,
    standing_still,
)
from launcher.watch.verdict import Finding

Judge: TypeAlias = Callable[[Scene], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Signature:
    """One way, and where it was met."""

    name: str
    about: str
    source: str
    find: Judge


SIGNATURES = tuple(
    Signature(module.NAME, module.ABOUT, module.SOURCE, module.find)
    for module in (died, standing_still, no_token, frozen_transfer, lost_half, circuit, floor)
)
"""In the order in which they are asked: a service that waits for one that hangs is not told as hung itself."""


def findings(scene: Scene) -> tuple[Finding, ...]:
    """Everything that is wrong; each service hangs in one way only, and only where its hang is its own."""
    found: list[Finding] = []
    for signature in SIGNATURES:
        blamed = {finding.service for finding in found if finding.weight in ("hung", "dead")}
        hung_before = any(finding.weight == "hung" for finding in found)
        for finding in signature.find(scene):
            if finding.weight == "hung" and (finding.service in blamed or hung_before or _someone_died(found)):
                continue
            found.append(finding)
    return tuple(found)


def _someone_died(found: list[Finding]) -> bool:
    return any(finding.weight == "dead" for finding in found)
