"""Which tree is meant by an engine's name or path, and what that tree knows of flags and variables."""

from __future__ import annotations

from pathlib import Path

from launcher.engines import describe, lookup
from launcher.engines.environment import environment_at
from launcher.errors import InputError
from launcher.knobs import EngineKnobs, harvest
from launcher.rules import simulator_knobs
from launcher.store import cache_dir


def knobs_at(engine: str) -> EngineKnobs:
    """What the engine knows: a registered name, an environment, a checkout, the package itself or a wheel.

    Seconds the first time, a tenth of one afterwards. Raises InputError where there is no engine of that name or at
    that path.
    """
    path = Path(engine).expanduser() if engine.startswith("~/") else Path(engine)
    if "/" not in engine and not path.exists():
        found = lookup(engine)
        if found.kind == "simulator":
            return simulator_knobs()
        path = found.path
    try:
        inside = describe(path).package if path.is_dir() and environment_at(path) else path
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path}: {error.strerror}", hint=f"ls -ld {path}") from error
    return harvest(inside, cache_dir=cache_dir() / "knobs")
