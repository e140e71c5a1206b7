"""What the watcher saw last, for those who ask without watching: ``STATE/watch.json``, written whole in each look."""

from __future__ import annotations

import time
from collections.abc import Mapping

from pydantic import ValidationError

from launcher.frozen import Frozen
from launcher.render import Layout
from launcher.store.process import Process, this_process
from launcher.watch import Verdict

NAME = "watch.json"
_FRESH = 10.0
"""Seconds after which it tells nothing of now; a look is written every two."""
SCHEMA = 1


class Found(Frozen):
    """One thing that is wrong."""

    signature: str
    service: str
    weight: str
    words: str
    since: float
    """Seconds since the epoch."""


class Stands(Frozen):
    """One server."""

    standing: str
    requests: int
    progress: float | None
    """When it last generated or computed something, seconds since the epoch."""


class Watched(Frozen):
    """The last verdict of a watcher."""

    schema_version: int = SCHEMA
    at: float
    """Seconds since the epoch."""
    generation: int
    state: str
    watcher: Process
    services: Mapping[str, Stands]
    findings: tuple[Found, ...]
    evidence: str | None = None
    """The newest folder of frozen evidence that belongs to a finding."""

    @property
    def fresh(self) -> bool:
        """Whether it tells how things are now."""
        return time.time() - self.at < _FRESH and self.watcher.alive()


def watched(verdict: Verdict, evidence: str | None = None) -> Watched:
    """The verdict as it is written."""
    return Watched(
        at=verdict.time,
        generation=verdict.generation,
        state=verdict.state,
        watcher=this_process(),
        services={
            name: Stands(standing=s.standing, requests=s.requests, progress=s.progress)
            for name, s in verdict.services.items()
        },
        findings=tuple(
            Found(signature=f.signature, service=f.service, weight=f.weight, words=f.words, since=f.since)
            for f in verdict.findings
        ),
        evidence=evidence,
    )


def write(layout: Layout, state: Watched) -> None:
    """Put it in the place of the last one; raises OSError where the system refuses."""
    path = layout.state / NAME
    new = path.with_name(f".{NAME}.new")
    new.write_text(state.model_dump_json())
    new.replace(path)  # nothing waits for the disk: after a power failure nobody watches


def read(layout: Layout) -> Watched | None:
    """What a watcher saw last, however long ago; None where none ever watched."""
    try:
        return Watched.model_validate_json((layout.state / NAME).read_bytes())
    except (OSError, ValidationError):
        return None
