"""What the watcher knows that a single look cannot: since when a server hangs, when it last gave a token."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

from launcher.frozen import Frozen
from launcher.operations.freezing import FOLDER
from launcher.operations.watch_state import Found, read
from launcher.plan import Plan
from launcher.store import Store


class WatchSays(Frozen):
    """What a living watcher saw last, or that there is none."""

    watching: bool
    findings: tuple[Found, ...] = ()
    progress: Mapping[str, float] = {}
    """When a server last generated or computed something, seconds since the epoch."""
    evidence: str | None = None
    """The newest frozen folder that belongs to a hang of now."""

    @property
    def hung(self) -> tuple[Found, ...]:
        """What hangs."""
        return tuple(found for found in self.findings if found.weight == "hung")

    @property
    def hung_services(self) -> frozenset[str]:
        """The services that hang."""
        return frozenset(found.service for found in self.hung)

    @property
    def since(self) -> float | None:
        """When the first of what hangs began, seconds since the epoch."""
        return min((found.since for found in self.hung), default=None)


def watch_says(store: Store, plan: Plan, number: int) -> WatchSays | None:
    """The watcher's word on generation `number`; None where the profile wants nobody to watch."""
    if plan.watch.on_hang == "none":
        return None
    seen = read(store.layout)
    if seen is None or not seen.fresh:
        return WatchSays(watching=False)
    if seen.generation != number:
        return WatchSays(watching=True)
    progress = {name: s.progress for name, s in seen.services.items() if s.progress is not None}
    says = WatchSays(watching=True, findings=seen.findings, progress=progress)
    return says.model_copy(update={"evidence": _evidence(store.layout.state / FOLDER, says)})


def _evidence(folder: Path, says: WatchSays) -> str | None:
    if says.since is None or not folder.is_dir():
        return None
    begun = dt.datetime.fromtimestamp(says.since).astimezone().strftime("%Y%m%d-%H%M%S")
    found = sorted(path.name for path in folder.iterdir() if path.name >= begun)
    return str(folder / found[-1]) if found else None
