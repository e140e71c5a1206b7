"""Gathering the facts of a plan: the machine, the serving environment, the router, the engine's source."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import launcher
from launcher.observe.machine import machine
from launcher.plan import Environment, Facts
from launcher.profile import Finding, Loaded


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts, the engine's source for a snapshot, and what of the profile does not fit them."""

    facts: Facts
    roots: dict[str, Path] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def gather(loaded: Loaded) -> Gathered:
    """What a plan of `loaded` depends on, read from this machine; what is not here is left out."""
    engine = loaded.profile.engine
    here = machine(engine.user)
    if engine.kind == "simulator":
        home = Path(engine.source) if engine.source else Path(launcher.__file__).parents[1]
        roots = {name: home / name for name in ("launcher/__init__.py", "launcher/simulator")}
        simulator = Environment(python=sys.executable, version=launcher.__version__)
        return Gathered(
            Facts(machine=here, engine=simulator, router=_tmp_env(Path("/var/lib/pdlaunch/engines/cpu/venv"))), roots
        )
    venv = Path("/var/lib/pdlaunch/engines/cpu/venv") if engine.kind == "cpu" else Path(engine.venv or "")
    env = _tmp_env(venv)
    roots = {"sglang": venv / "lib/python3.11/site-packages/sglang"} if env else {}
    return Gathered(
        Facts(machine=here, engine=env, router=env, model_path="/var/lib/pdlaunch/engines/cpu/model"), roots
    )


def _tmp_env(venv: Path) -> Environment | None:
    found = {p.name.split("-")[0]: p.name.split("-")[1] for p in venv.glob("lib/python3.11/site-packages/*.dist-info")}
    if not found:
        return None
    return Environment(python=str(venv / "bin/python"), version=found["sglang"], distributions=found)
