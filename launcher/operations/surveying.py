"""What runs now, what the way to a plan is from there, and how long such ways took before."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from launcher.backends.protocol import Backend
from launcher.observe.running import Running, running
from launcher.operations.moving import Move, move
from launcher.plan import Plan
from launcher.store import Store


def find_move(
    plan: Plan, backend: Backend, store: Store, forced: Collection[str] = ()
) -> tuple[Move, Mapping[str, Running]]:
    """The move to `plan` from what runs now, and what runs now."""
    now, broken = survey(backend, store)
    return move(plan, now, broken, forced), now


def survey(backend: Backend, store: Store) -> tuple[Mapping[str, Running], set[str]]:
    """What runs now, and the names of that which is not fit to stay."""
    now = running(store.layout.state)
    units = backend.units()
    stray = {proc.service for proc in backend.orphans() if proc.service}
    return now, stray | {name for name in now if name not in units or units[name].state != "running"}


def etas(store: Store) -> dict[str, float]:
    """Seconds that each service took to load the last time, by name."""
    found: dict[str, float] = {}
    for event in store.journal.events():
        loaded = event.details.get("loaded") if event.what == "proved" else None
        if isinstance(loaded, dict):
            found |= {name: float(s) for name, s in loaded.items() if isinstance(s, int | float)}
    return found
