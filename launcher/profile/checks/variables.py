"""Variables that pdlaunch owns, and names that are both a variable and a secret."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile.findings import DELETE, Finding
from launcher.profile.layering import levels
from launcher.profile.lines import Lines
from launcher.profile.model import Profile
from launcher.profile.tree import KeyPath, dotted

_OWNED = {
    "CUDA_VISIBLE_DEVICES": ("`gpus` decides it: all cards stay visible, for transfers between them", "gpus: 0-3"),
    "CUDA_DEVICE_ORDER": ("cards are counted by PCI address everywhere", DELETE),
    "PYTHONPATH": ("`engine.source` puts a checkout in front", "engine: {source: /opt/sglang-fork}"),
    "PYTHONHOME": ("`engine.venv` decides it", DELETE),
    "PYTHONPYCACHEPREFIX": ("the engine's snapshot is read-only and stays free of bytecode", DELETE),
    "HOME": ("it is the home of `engine.user`", "engine: {user: NAME}"),
    "USER": ("`engine.user` decides it", "engine: {user: NAME}"),
    "SGLANG_HOST_IP": ("`engine.host` decides it", "engine: {host: 127.0.0.1}"),
    "SGLANG_LOCAL_IP_NIC": ("`engine.host` decides it", "engine: {host: 127.0.0.1}"),
    "HOST_IP": ("`engine.host` decides it", "engine: {host: 127.0.0.1}"),
    "SGLANG_USE_CPU_ENGINE": ("`engine.kind` decides it", "engine: {kind: cpu}"),
    "SGLANG_EXPOSE_OWN_ENV_VARS": ("it is always on: what runs is read back", DELETE),
    "SGLANG_CACHE_DIR": ("caches are keyed by compiled packages, driver and GPU", DELETE),
    "SGLANG_JIT_CACHE_DIR": ("caches are keyed by compiled packages, driver and GPU", DELETE),
    "SPT_NOENV": ("it is always on: without it a process hides its environment", DELETE),
}
"""Name to why, and what to write instead."""


def check_variables(profile: Profile, lines: Lines) -> Iterator[Finding]:
    """Find variables that pdlaunch owns, and secrets that are plain variables as well."""
    plain: dict[str, KeyPath] = {}
    for path, level in levels(profile):
        for section, names in (("env", level.env), ("secrets", level.secrets)):
            for name in names:
                here: KeyPath = (*path, section, name)
                if name in _OWNED:
                    why, write = _OWNED[name]
                    yield Finding(here, f"pdlaunch owns this: {why}", write)
                elif name.startswith("PDLAUNCH_SIM_"):
                    if profile.engine.kind != "simulator":
                        yield Finding(here, "only the simulator reads this, and `engine.kind` is another", DELETE)
                elif name.startswith("PDLAUNCH_"):
                    yield Finding(here, "pdlaunch owns this: its own names begin with PDLAUNCH_", DELETE)
        plain |= {name: (*path, "env", name) for name, value in level.env.items() if value is not None}
    for path, level in levels(profile):
        for name, file in level.secrets.items():
            other = plain.get(name)
            if file is not None and other and _meet(path, other):
                error = f"is a plain variable too, {dotted(other)} in line {lines.at(*other)}; which one is meant?"
                yield Finding((*path, "secrets", name), error, "one of the two")


def _meet(one: KeyPath, other: KeyPath) -> bool:
    """Whether one server is told both: the engine's levels never meet the router's."""
    return (one[0] == "router") == (other[0] == "router") and (one[0] == other[0] or "engine" in {one[0], other[0]})
