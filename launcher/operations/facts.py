"""Gathering the facts of a plan: the machine, the serving environment, the router, the engine's source."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import launcher
from launcher.engines import EngineFacts, describe, simulator
from launcher.engines.checkout import package_in, source_version
from launcher.engines.cpu.engine import installed as cpu_engine
from launcher.engines.environment import Environment as EngineEnvironment
from launcher.engines.environment import environment_at
from launcher.engines.registry import registered
from launcher.engines.registry import resolve as find_engine
from launcher.errors import InputError
from launcher.observe.machine import machine
from launcher.plan import Environment, Facts
from launcher.profile import DELETE, Finding, Loaded

ROUTER = "sglang-router"
_MODULES = ("launcher/__init__.py", "launcher/simulator")


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts, the engine's source, and what of the profile does not fit them."""

    facts: Facts
    roots: dict[str, Path] = field(default_factory=dict)
    """Relative path in a snapshot to file or folder here; empty where the engine is not here."""
    package: Path | None = None
    """The ``sglang`` package that the flags and variables are read from; a checkout's where the profile names one."""
    router_package: Path | None = None
    findings: tuple[Finding, ...] = ()


def gather(loaded: Loaded) -> Gathered:
    """What a plan of `loaded` depends on, read from this machine; what is not here is left out."""
    engine = loaded.profile.engine
    here = machine(engine.user)
    router = _router(loaded)
    facts = Facts(machine=here, router=_routing(router) if router else None)
    arguments = router.find("sglang_router/router_args.py") if router else None
    router_package = arguments.parent if arguments else None
    if engine.kind == "simulator":
        roots = simulator_roots(engine.source)
        absent = [str(path) for path in roots.values() if not path.exists()]
        wrong = Finding(("engine", "source"), f"no simulator there: {absent[0]} is missing", DELETE) if absent else None
        return Gathered(
            facts.model_copy(update={"engine": _serving(simulator(), None)}),
            {} if absent else roots,
            router_package=router_package,
            findings=(wrong,) if wrong else (),
        )
    findings: list[Finding] = []
    found = _found(loaded, findings)
    source = _checkout(loaded, findings)
    package = source or (found.package if found else None)
    version = source_version(source) if source else found.version if found else None
    if engine.version and version and not version.startswith(engine.version):
        findings.append(
            Finding(("engine", "version"), f"the engine here is {version}, not {engine.version}", f"version: {version}")
        )
    installed = cpu_engine() if engine.kind == "cpu" else None
    return Gathered(
        facts.model_copy(
            update={
                "engine": _serving(found, version) if found else None,
                "model_path": str(installed.model) if installed else None,
            }
        ),
        {"sglang": package} if package else {},
        package or _same_version(engine.version),
        router_package,
        tuple(findings),
    )


def _found(loaded: Loaded, findings: list[Finding]) -> EngineFacts | None:
    """The serving environment; None where a path is not there, which only `up` minds."""
    engine = loaded.profile.engine
    if engine.venv is None:
        installed = cpu_engine() if engine.kind == "cpu" else None
        return describe(installed.venv) if installed else None
    if "/" in engine.venv and not Path(engine.venv).exists():
        return None
    try:
        found = find_engine(engine.venv)
    except InputError as error:
        findings.append(Finding(("engine", "venv"), f"{error.message}; {error.hint}", DELETE))
        return None
    if found.python is None:
        findings.append(Finding(("engine", "venv"), f"{found.path} is a checkout without Python", "source: ..."))
        return None
    return found


def _checkout(loaded: Loaded, findings: list[Finding]) -> Path | None:
    """The package of `engine.source`; None without one, and where it is not on this machine."""
    source = loaded.profile.engine.source
    if source is None or not Path(source).exists():
        return None
    package = package_in(Path(source))
    if package is None:
        findings.append(Finding(("engine", "source"), f"no SGLang in {source}: it has no python/sglang", DELETE))
    return package


def _router(loaded: Loaded) -> EngineEnvironment | None:
    """The environment that the router runs from: its own, the engine's, pdlaunch's own, the CPU engine's."""
    spec = loaded.profile.router
    if spec is None:
        return None
    installed = cpu_engine()
    usual = (loaded.profile.engine.venv, sys.prefix, str(installed.venv) if installed else None)
    for place in (spec.venv,) if spec.venv else usual:
        path = _path_of(place) if place else None
        found = environment_at(path) if path and path.exists() else None
        if found and found.version_of(ROUTER):
            return found
    return None


def _path_of(venv: str) -> Path | None:
    """A profile's `venv`: a path, or a registered name."""
    if "/" in venv:
        return Path(venv)
    return next((engine.path for engine in registered() if engine.name == venv), None)


def _serving(found: EngineFacts, version: str | None) -> Environment:
    return Environment(
        python=str(found.python), version=version or found.version, distributions=found.distributions, cuda=found.cuda
    )


def _routing(found: EngineEnvironment) -> Environment:
    versions = {name: d.version for name, d in found.distributions.items()}
    return Environment(python=str(found.python), version=versions[ROUTER], distributions=versions)


def _same_version(version: str | None) -> Path | None:
    """The CPU engine's SGLang knows the same names where the profile's engine is elsewhere and of the same version."""
    installed = cpu_engine()
    if installed is None or installed.versions.get("sglang") != version:
        return None
    return describe(installed.venv).package


def simulator_roots(source: str | None) -> dict[str, Path]:
    """The simulator's source, as a snapshot takes it: pdlaunch's own, or the one in the checkout at `source`."""
    home = Path(source) if source else Path(launcher.__file__).parents[1]
    return {name: home / name for name in _MODULES}
