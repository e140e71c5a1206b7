"""Packages that were installed after a service had started: it runs what was there before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from launcher.engines.environment import environment_at
from launcher.errors import InputError
from launcher.plan import Plan

_SHOWN = 3
Installed: TypeAlias = tuple[tuple[str, float], ...]
"""Each package as ``torch 2.13.0``, with the time of its installation."""


def newer_packages(plan: Plan, started: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Each of the services that `started` (seconds since the epoch) before packages of its environment were installed.

    Yields the service and ``torch 2.13.0 and 4 more``.
    """
    known: dict[Path, Installed] = {}
    for service in plan.services:
        program = Path(service.words()[0])
        simulated = plan.engine.kind == "simulator" and service.role != "router"  # a copy, with nothing beside it
        if service.name not in started or not program.is_absolute() or simulated:
            continue
        prefix = program.parent.parent
        if prefix not in known:
            known[prefix] = tuple(_installed(prefix))
        found = [package for package, at in known[prefix] if at > started[service.name]]
        if found:
            rest = f" and {len(found) - _SHOWN} more" if found[_SHOWN:] else ""
            yield service.name, f"{', '.join(found[:_SHOWN])}{rest}"


def _installed(prefix: Path) -> Iterator[tuple[str, float]]:
    """An installer makes a package's ``dist-info`` folder anew, so that its time is the installation's."""
    with contextlib.suppress(InputError):
        environment = environment_at(prefix)
        for name, distribution in sorted(environment.distributions.items()) if environment else ():
            with contextlib.suppress(OSError):
                yield f"{name} {distribution.version}", distribution.info.stat().st_mtime
