"""What a backend is: it installs a bundle's files and drives what they describe. It decides nothing.

The words fit a supervisor of processes (supervisord, systemd) and a scheduler of jobs alike: a backend says what it was
told to run and what state that is in, and it stops things; restarts, limits and order live in the files it was given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from launcher.backends.processes import Proc

UnitState: TypeAlias = Literal["stopped", "starting", "running", "backoff", "stopping", "exited", "failed", "unknown"]
"""``exited``: it ended by itself. ``failed``: it could not be started at all."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What a backend says of one service."""

    name: str
    state: UnitState
    pid: int | None = None
    since: float | None = None
    """Start of the present state, seconds since the epoch."""
    exit_status: int | None = None
    """Of an ``exited`` service; -1 where a signal ended it."""
    detail: str | None = None
    """How it ended or why it could not start, in the backend's words: ``terminated by SIGKILL``."""
    restarts: int = 0
    """How often it was started again by itself since it was asked to run."""
    wanted: bool = False
    """It was asked to run and not asked to stop since: a service that is wanted and ended is a failure."""
    supervised: bool = True
    """False where it runs but the backend lost it or never started it: nobody starts it again; `stop` ends it."""


class Backend(Protocol):
    """Drives one deployment's services.

    Every call may be repeated, and continues what a caller that was killed had begun. Two callers at a time are
    excluded by the store's lock. All raise PdlaunchError, with the backend's own words where it has some.
    """

    name: str

    def require(self) -> None:
        """Raise InputError, with the way on, where this machine does not have the backend; asked before anything."""

    def install(self, generation: Path) -> None:
        """Put the generation's files in force without starting or stopping anything; idempotent."""

    def start(self, names: Collection[str]) -> None:
        """Start these services as installed; those already running are left alone.

        Returns when they were started, not when they are ready. Raises PdlaunchError for one that runs
        unsupervised: it must be stopped first.
        """

    def stop(self, names: Collection[str], *, drain: bool = True) -> None:
        """Stop these services in parallel and return when nothing of them is left, whoever started it.

        TERM to the main process, the drain and kill limits of the plan, then the whole tree; `drain` False goes to
        the tree at once. Raises PdlaunchError naming what cannot be ended.
        """

    def units(self) -> Mapping[str, Unit]:
        """Every installed service by name, in start order, and any other that still runs; true without the daemon."""

    def overrides(self, generation: Path) -> Mapping[str, tuple[str, ...]]:
        """What is in force that `generation` did not record, a line each, by service; ``""`` is the deployment."""

    def alive(self) -> bool:
        """Whether the backend itself (the daemon, the manager) runs for this deployment."""

    def orphans(self) -> tuple[Proc, ...]:
        """Processes that carry a service's mark and that the backend does not supervise, oldest first."""

    def end_orphans(self, *, drain: bool = True) -> None:
        """End them with the same discipline as `stop`; supervised services are left alone."""

    def arrived(self) -> None:
        """What was started serves: raise what stands for the deployment as a whole, and wait for nothing."""

    def at_boot(self, generation: Path | None) -> None:
        """Have a boot of the machine bring back that generation, or nothing; repeatable.

        For a backend that no boot starts it does nothing.
        """

    def tell(self, text: str, *, bad: bool = False) -> None:
        """Put a line into the log that services of this backend share, where they share one; it never fails."""

    def close(self) -> None:
        """End what the backend started for itself, after the services are stopped."""

    def forget(self) -> None:
        """Remove what `install` put outside of the deployment's own folder; nothing of it may run."""
