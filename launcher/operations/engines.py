"""`engine`: install the CPU engine, register what is there, list what is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from launcher.engines import EngineFacts, describe, simulator
from launcher.engines.cpu.engine import CpuEngine, home
from launcher.engines.cpu.installing import install
from launcher.engines.registry import Registered, register, registered
from launcher.errors import InputError
from launcher.operations.events import Event, Report


@dataclass(frozen=True, slots=True)
class Listed:
    """An engine with a name, and what it is; or why that cannot be said."""

    entry: Registered
    facts: EngineFacts | None
    problem: str | None


def install_cpu(report: Report) -> CpuEngine:
    """Make the CPU engine, or find it; raises PdlaunchError with the last words of what failed."""
    return install(home(), progress=lambda step, detail: report(Event(step, detail)), wait=True)


def add(path: Path, name: str | None) -> Listed:
    """Register the environment or checkout at `path`; raises InputError where there is none."""
    entry = register(path, name)
    return Listed(entry, describe(entry.path), None)


def listing() -> tuple[Listed, ...]:
    """Every engine with a name."""
    found = []
    for entry in registered():
        try:
            facts = simulator() if entry.kind == "simulator" else describe(entry.path)
            found.append(Listed(entry, facts, None))
        except InputError as error:
            found.append(Listed(entry, None, error.message))
    return tuple(found)
