"""What a lock records of the engine beside the plan: what of its source was edited, and the packages around it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

from launcher.engines.baseline import edited, record
from launcher.engines.checkout import head
from launcher.engines.environment import Environment, environment_at
from launcher.engines.manifest import Manifest
from launcher.errors import InputError
from launcher.lock import Intent, Read
from launcher.operations.checking import Checked
from launcher.plan import Plan
from launcher.store import cache_dir

_NIXL = ("nixl-cu13", "nixl-cu12", "nixl")
"""Distributions that may carry the library; `nixl` itself is a front."""


def read_engine(checked: Checked) -> Read:
    """What lies around the engine that `checked` found; what was edited in it is `with_edits`'s to say."""
    engine, router = checked.facts.engine, checked.facts.router
    simulated = checked.loaded.profile.engine.kind == "simulator"
    package = _package(checked)
    environment = environment_at(Path(engine.python).parents[1]) if engine and not simulated else None
    return Read(
        package=str(package) if package else None,
        head=head(package) if package else None,
        packages=engine.distributions if engine else {},
        nixl=environment.version_of("nixl", *_NIXL) if environment else None,
        ucx=_ucx(environment) if environment else None,
        router=router.version if router else None,
    )


def _package(checked: Checked) -> Path | None:
    """The folder of the engine's source; None where there is none, and for the simulator that comes with pdlaunch."""
    source = checked.loaded.profile.engine.source
    simulated = checked.loaded.profile.engine.kind == "simulator"
    if simulated and source and checked.roots:
        return Path(source) / "launcher"
    return checked.roots.get("sglang")


def with_edits(read: Read, tree: Manifest | None, roots: Collection[str]) -> Read:
    """`read` with the files of `tree`, made of `roots`, that differ from the checkout's commit or the RECORD."""
    if tree is None or read.package is None:
        return read
    found = edited(tree, Path(read.package), read.head, roots=roots, cache=cache_dir() / "git-objects.json")
    return read.model_copy(update={"edited": found})


def same_packages(intent: Intent, read: Read) -> bool:
    """Whether what lies around the engine is what the lock recorded."""
    recorded = (
        intent.engine.packages.versions,
        intent.transfer.nixl,
        intent.transfer.ucx,
        intent.router.version if intent.router else None,
    )
    return recorded == (read.packages, read.nixl, read.ucx, read.router)


def installed(plan: Plan) -> dict[str, str] | None:
    """What is installed now where `plan` serves from, name to version; None for the simulator, and where nothing is."""
    server = next((service for service in plan.services if service.role != "router"), None)
    if server is None or plan.engine.kind == "simulator":
        return None
    python = Path(server.words()[0])
    with contextlib.suppress(InputError):
        found = environment_at(python.parent.parent) if python.is_absolute() else None
        return {name: each.version for name, each in found.distributions.items()} if found else None
    return None


def _ucx(environment: Environment) -> str | None:
    """The hash of the UCX that the NIXL wheel brings, as its RECORD has it; None where the system's own is used."""
    for name in _NIXL:
        found = environment.distributions.get(name)
        for file, sha256 in record(found.info).items() if found else ():
            if file.rpartition("/")[2].startswith("libucp"):
                return sha256
    return None
