"""What an adopted generation keeps beside its scripts: who ran, who had started it, and from which text."""

from __future__ import annotations

from collections.abc import Mapping

from launcher.frozen import Frozen

NAME = "adopted.json"
SCHEMA = 1


class OldUnit(Frozen):
    """A systemd unit that had started a service."""

    name: str
    user: bool
    """Of a user's own manager."""
    file: str | None
    enabled: bool
    """Whether it was started at boot."""


class AdoptedService(Frozen):
    """One service as it was found."""

    pid: int
    started: int
    """Clock ticks since boot."""
    born: float
    """Seconds since the epoch."""
    tree: tuple[tuple[int, int], ...]
    """Pid and start of each process, the main one first."""
    how: str
    """``sglang-decode.service``, ``bash script``, ``nohup``."""
    unit: OldUnit | None
    script: str | None
    exe: str | None
    cwd: str | None
    output: str | None
    """Where it printed to."""


class OldFile(Frozen):
    """A script or unit as it was, secrets cut out; its text lies beside."""

    path: str
    copy_name: str
    """Its name in the generation."""
    sha256: str
    """Of the file itself, uncut."""


class Adoption(Frozen):
    """The whole."""

    schema_version: int = SCHEMA
    boot: str
    services: Mapping[str, AdoptedService]
    files: tuple[OldFile, ...]
    secrets: Mapping[str, Mapping[str, str]]
    """Service to flag or variable to the file that its value is kept in."""
