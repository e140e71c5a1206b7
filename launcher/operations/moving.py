"""What going to a plan takes: which services stop, which start, which are left alone. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from launcher.observe.running import Running
from launcher.plan import Plan


@dataclass(frozen=True, slots=True)
class Move:
    """The way from what runs to a plan; names in the plan's start order."""

    stop: tuple[str, ...]
    start: tuple[str, ...]
    keep: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        """Whether everything runs as planned already."""
        return not self.stop and not self.start


def move(plan: Plan, now: Mapping[str, Running], broken: Collection[str] = (), forced: Collection[str] = ()) -> Move:
    """The move from what runs `now` to `plan`.

    `broken` names services whose processes are there but not fit to stay: not supervised, half dead, still stopping.
    `forced` names services that are to restart whatever they run.
    """
    wanted = {service.name: service.digest() for service in plan.services}
    keep = tuple(
        name
        for name, digest in wanted.items()
        if name in now and now[name].digest == digest and name not in broken and name not in forced
    )
    start = tuple(name for name in wanted if name not in keep)
    stop = tuple(name for name in (*wanted, *(n for n in now if n not in wanted)) if name in now and name not in keep)
    return Move(stop, start, keep)
