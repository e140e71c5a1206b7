"""Which deployments that hold something still run."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from launcher.observe.running import running
from launcher.render import Layout
from launcher.store import Hold


def hold_is_alive(hold: Hold) -> bool:
    """Whether any process of the holder's deployment is there, whoever supervises it."""
    return bool(running(Path(hold.state)))


def replaceable(held: Collection[Hold], place: Layout) -> tuple[str, ...]:
    """The other deployments of this state folder that have some of `held` and run."""
    theirs = [h for h in held if not h.of(place) and h.state == str(place.state.parent / h.deployment)]
    return tuple(sorted({h.deployment for h in theirs if hold_is_alive(h)}))
