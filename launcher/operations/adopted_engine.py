"""Which engine adopted servers run: its environment, its source, what it knows of names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import launcher
from launcher.adopt import Found
from launcher.engines import describe
from launcher.engines.checkout import head, package_in, source_version
from launcher.engines.environment import Environment, environment_at
from launcher.errors import InputError
from launcher.knobs import EngineKnobs, harvest, harvest_router
from launcher.lock import Read
from launcher.operations.facts import ROUTER, simulator_roots
from launcher.plan.model import EngineUse
from launcher.rules import simulator_knobs
from launcher.store import cache_dir


@dataclass(frozen=True, slots=True)
class AdoptedEngine:
    """What was found out about the engine of a deployment."""

    use: EngineUse
    roots: Mapping[str, Path] = field(default_factory=dict)
    """What a snapshot keeps: relative path to file or folder."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """``kind``, ``venv``, ``source``, ``user`` as a profile says them."""
    router_settings: Mapping[str, str] = field(default_factory=dict)
    read: Read = field(default_factory=Read)
    knobs: EngineKnobs | None = None
    router_knobs: EngineKnobs | None = None


def engine_of(group: Sequence[Found], user: str | None) -> AdoptedEngine:
    """The engine of one deployment's servers, the first one's; what cannot be found out is left out."""
    server = next((f for f in group if f.role != "router"), None)
    router = next((f for f in group if f.role == "router"), None)
    told: dict[str, str] = {"user": user} if user else {}
    front = _environment(router) if router else None
    front_settings = {"venv": _prefix(router)} if router and front else {}
    front_knobs = _router_knobs(front)
    router_version = front.version_of(ROUTER) if front else None
    if server is None:
        use = EngineUse(kind="sglang", version="unknown")
        return AdoptedEngine(use, router_settings=front_settings, router_knobs=front_knobs)
    if server.program.kind == "simulator":
        home = next((p for p in _path(server) if (p / "launcher" / "simulator").is_dir()), None)
        return AdoptedEngine(
            EngineUse(kind="simulator", version=launcher.__version__),
            simulator_roots(str(home) if home else None),
            {"kind": "simulator", **told},
            front_settings,
            Read(router=router_version),
            simulator_knobs(),
            front_knobs,
        )
    return _sglang(server, told, front_settings, front_knobs, router_version)


def _sglang(
    server: Found,
    told: Mapping[str, str],
    front_settings: Mapping[str, str],
    front_knobs: EngineKnobs | None,
    router_version: str | None,
) -> AdoptedEngine:
    source = next((place for place in _path(server) if package_in(place)), None)
    package = package_in(source) if source else None
    environment = _environment(server)
    version = source_version(package) if package else None
    if package is None:
        try:
            facts = describe(Path(_prefix(server)))
            package, version = facts.package, facts.version
        except InputError:
            version = None
    on_cpu = server.options.text("device") == "cpu"
    checkout = {"source": str(source.parent if source.name == "python" else source)} if source else {}
    packages = {n: d.version for n, d in environment.distributions.items()} if environment else {}
    return AdoptedEngine(
        EngineUse(kind="cpu" if on_cpu else "sglang", version=version or "unknown", source=checkout.get("source")),
        {"sglang": package} if package else {},
        {"kind": "cpu" if on_cpu else "sglang", "venv": _prefix(server), **checkout, **told},
        front_settings,
        Read(
            package=str(package) if package else None,
            head=head(package) if package else None,
            packages=packages,
            nixl=environment.version_of("nixl", "nixl-cu13", "nixl-cu12") if environment else None,
            router=router_version,
        ),
        _knobs(package),
        front_knobs,
    )


def _knobs(package: Path | None) -> EngineKnobs | None:
    """What the engine knows of names; None for one whose declarations cannot be read, which is no reason to refuse."""
    try:
        return harvest(package, cache_dir=cache_dir() / "knobs") if package else None
    except InputError:
        return None


def _path(server: Found) -> Iterator[Path]:
    """The folders that Python looks into before its own: where ``-m`` was called, then PYTHONPATH."""
    by_module = "-m" in server.words[: server.program.head]
    if by_module and server.details.cwd and not server.environ.get("PYTHONSAFEPATH"):
        yield Path(server.details.cwd)
    for entry in server.environ.get("PYTHONPATH", "").split(":"):
        if entry:
            yield Path(server.details.cwd or "/") / entry


def program_path(server: Found) -> str:
    """The program's file as the server was told it, absolute; what runs where that is not there any more."""
    word = server.words[0]
    if "/" in word:
        path = Path(server.details.cwd or "/") / word
        return str(path) if path.exists() else server.details.exe or word
    return shutil.which(word, path=server.environ.get("PATH")) or server.details.exe or word


def _prefix(server: Found) -> str:
    """The environment that the server's interpreter belongs to."""
    return str(Path(program_path(server)).parents[1]) if "/" in program_path(server) else ""


def _environment(server: Found) -> Environment | None:
    try:
        return environment_at(Path(_prefix(server))) if _prefix(server) else None
    except InputError:
        return None


def _router_knobs(environment: Environment | None) -> EngineKnobs | None:
    arguments = environment.find("sglang_router/router_args.py") if environment else None
    try:
        return harvest_router(arguments.parent, cache_dir=cache_dir() / "knobs") if arguments else None
    except InputError:
        return None
