"""What will take away what the way back needs, unless somebody acts first: an upgrade, a prune, a new download."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from launcher.errors import PdlaunchError
from launcher.observe.model_origin import dangling, in_cache
from launcher.observe.upgrades import pending_upgrades
from launcher.operations.pruning import RECENT, to_prune
from launcher.plan import Plan
from launcher.store import Store


@dataclass(frozen=True, slots=True)
class Threat:
    """One thing that has not happened yet, or cannot be told."""

    kind: Literal["missing", "unknown", "soon"]
    generations: tuple[int, ...]
    what: str
    fix: str | None


def threats(store: Store, numbers: Collection[int]) -> Iterator[Threat]:
    """What threatens generations `numbers`; damaged ones are left out."""
    plans: dict[int, Plan] = {}
    for number in numbers:
        with contextlib.suppress(PdlaunchError):
            plans[number] = store.generation(number).plan
    yield from _models(plans)
    yield from _upgrades(tuple(n for n, plan in plans.items() if any(s.gpus for s in plan.services)))
    yield from _prune(store, numbers)


def _models(plans: dict[int, Plan]) -> Iterator[Threat]:
    for path in dict.fromkeys(plan.model_path for plan in plans.values() if plan.engine.kind != "simulator"):
        having = tuple(n for n, plan in plans.items() if plan.model_path == path)
        for kind, what, fix in _model(Path(path)):
            yield Threat(kind, having, f"model {path} {what}", fix)


def _model(place: Path) -> Iterator[tuple[Literal["missing", "soon"], str, str]]:
    copy = f"cp -rL {place} FOLDER, write `model: FOLDER` into the profile, up, and name that generation"
    if not place.is_absolute():
        yield "soon", "is a name of a hub: what it means there may change", copy
        return
    if not place.exists():
        yield "missing", "is gone", "put it back there"
        return
    if gone := dangling(place):
        yield "missing", f"has {gone[0]}, a link that leads to nothing", "download that revision again"
    cached = in_cache(place)
    if cached is None and place.is_symlink():
        yield "soon", f"is a link to {place.readlink()}: who moves it changes what starts", copy
    elif cached is not None:
        newer = f", and {str(cached.wanted)[:12]} was downloaded since" if cached.moved else ""
        yield "soon", f"is revision {cached.revision[:12]} in a download cache{newer}: cleaning it takes it away", copy


def _upgrades(numbers: tuple[int, ...]) -> Iterator[Threat]:
    """Only for what uses cards: nothing else stands on a driver."""
    found = pending_upgrades() if numbers else ()
    if isinstance(found, str):
        yield Threat("unknown", numbers, found, "apt-get -s dist-upgrade")
        return
    if found:
        first = ", ".join(f"{u.package} {u.now} -> {u.then}" for u in found[:3])
        rest = f" and {len(found) - 3} more" if found[3:] else ""
        hold = f"apt-mark hold {' '.join(u.package for u in found)}"
        yield Threat(
            "soon", numbers, f"the next apt upgrade replaces {first}{rest}: no rollback brings that back", hold
        )


def _prune(store: Store, numbers: Collection[int]) -> Iterator[Threat]:
    """What the next `prune` would take of these: those without a name, and never a source that another one runs."""
    name = store.layout.deployment
    gone = to_prune(store, RECENT).removed
    for number in numbers:
        if number in gone:
            fix = f"pdlaunch name WORD {number} -d {name}"
            yield Threat("soon", (number,), f"the next prune removes generation {number}: it has no name", fix)
