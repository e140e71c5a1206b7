"""What a lock records of the engine beside the plan: what of its source was edited, what lies around it."""

from __future__ import annotations

from pathlib import Path

from launcher.engines.baseline import edited, record
from launcher.engines.checkout import head
from launcher.engines.environment import Environment, environment_at
from launcher.engines.manifest import Manifest
from launcher.lock import Read
from launcher.operations.checking import Checked
from launcher.store import cache_dir

_NIXL = ("nixl-cu13", "nixl-cu12", "nixl")
"""Distributions that may carry the library; `nixl` itself is a front."""


def read_engine(checked: Checked, tree: Manifest | None) -> Read:
    """What is read of the engine that `checked` found; `tree` is its source as it is now."""
    engine, router = checked.facts.engine, checked.facts.router
    package = checked.roots.get("sglang")
    commit = head(package) if package else None
    environment = environment_at(Path(engine.python).parents[1]) if engine and package else None
    return Read(
        package=str(package) if package else None,
        head=commit,
        edited=edited(tree, package, commit, cache=cache_dir() / "git-objects.json") if tree and package else None,
        packages=engine.distributions if engine else {},
        nixl=environment.version_of("nixl", *_NIXL) if environment else None,
        ucx=_ucx(environment) if environment else None,
        router=router.version if router else None,
    )


def _ucx(environment: Environment) -> str | None:
    """The hash of the UCX that the NIXL wheel brings, as its RECORD has it; None where the system's own is used."""
    for name in _NIXL:
        found = environment.distributions.get(name)
        for file, sha256 in record(found.info).items() if found else ():
            if file.rpartition("/")[2].startswith("libucp"):
                return sha256
    return None
