"""What stands in the way of a start: cards and ports that another deployment holds, ports that a process listens on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from launcher.observe.running import running
from launcher.operations.ports import taken
from launcher.operations.presence import hold_is_alive, replaceable
from launcher.plan import Plan, Service
from launcher.render import Layout
from launcher.store import Hold, holders, resources


@dataclass(frozen=True, slots=True)
class Holder:
    """A deployment that has what is wanted."""

    deployment: str
    held: tuple[str, ...]
    """``gpu-0``, ``port-31000``."""
    by: str
    why: str | None
    since: str
    """ISO 8601."""
    replaceable: bool
    """Whether `up --replace` stops it: one of another state folder it leaves alone."""


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What would have to go first."""

    holders: tuple[Holder, ...]
    ports: tuple[str, ...]
    """A line for each port that a process outside of pdlaunch's deployments listens on."""


def obstacles(plan: Plan, place: Layout, starting: Collection[str]) -> Obstacles:
    """What stands in the way of starting the services `starting` of `plan`; changes nothing and waits for nobody."""
    held = [h for h in holders(resources(plan)).values() if not h.of(place) and hold_is_alive(h)]
    theirs: dict[tuple[str, str], list[Hold]] = {}
    for hold in held:
        theirs.setdefault((hold.deployment, hold.state), []).append(hold)
    known = _processes((place.state, *(Path(state) for _, state in theirs)))
    services: list[Service] = [service for service in plan.services if service.name in starting]
    goes = replaceable(held, place)
    found = [
        Holder(
            name,
            tuple(hold.resource for hold in holds),
            holds[0].by,
            holds[0].why,
            holds[0].since.isoformat(timespec="seconds"),
            name in goes and Path(state).parent == place.state.parent,
        )
        for (name, state), holds in theirs.items()
    ]
    return Obstacles(tuple(found), tuple(line for pid, line in taken(services, known)))


def _processes(states: Collection[Path]) -> set[int]:
    """The processes of deployments: whatever ports they have, their holds tell."""
    return {proc.pid for state in states for service in running(state).values() for proc in service.processes}
