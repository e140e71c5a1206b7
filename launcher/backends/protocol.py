"""What a backend is: it installs a bundle's files and drives what they describe. It decides nothing.

The words fit a supervisor of processes (supervisord, systemd) and a scheduler of jobs alike: a backend says what it
was told to run and what state that is in, and it stops things; restarts, limits and order live in the files it was given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

UnitState: TypeAlias = Literal["stopped", "starting", "running", "backoff", "stopping", "exited", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Unit:
    """What a backend says of one service."""

    name: str
    state: UnitState
    pid: int | None
    since: float | None
    """Start of the present state, seconds since the epoch."""
    exit_status: int | None
    restarts: int
    """How often it was started again by itself since it was asked to run."""
    log: Path


class Backend(Protocol):
    """Drives one deployment's services."""

    name: str

    def install(self, generation: Path) -> None:
        """Put the generation's files in force without starting or stopping anything; idempotent."""

    def start(self, names: Collection[str]) -> None:
        """Start these services as installed; those already running are left alone."""

    def stop(self, names: Collection[str], *, drain: bool = True) -> None:
        """Stop these services in parallel and return when their main processes are gone.

        TERM to the main process, the drain and kill limits of the plan, then the whole tree; `drain` False goes to
        the tree at once.
        """

    def units(self) -> Mapping[str, Unit]:
        """Every installed service by name; empty where the backend does not run."""

    def alive(self) -> bool:
        """Whether the backend itself (the daemon, the manager) runs for this deployment."""

    def close(self) -> None:
        """End what the backend started for itself, after the services are stopped."""
