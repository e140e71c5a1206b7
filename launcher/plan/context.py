"""What every step of planning looks things up in: the profile with its lines, the facts, the servers, the ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from launcher.plan.facts import Facts
from launcher.plan.model import Origin
from launcher.plan.ports import WATCH, Assigned, Wanted, assign
from launcher.plan.slots import Slot, slots
from launcher.profile import Loaded, Profile

OWN = Origin(kind="pdlaunch")
SIMULATED_MODEL = "simulated-model"


@dataclass(frozen=True, slots=True)
class Context:
    """The inputs of one plan."""

    loaded: Loaded
    facts: Facts
    slots: tuple[Slot, ...]
    ports: Mapping[str, Assigned]

    @property
    def profile(self) -> Profile:
        """What a person wrote."""
        return self.loaded.profile

    @property
    def file(self) -> str:
        """The profile's name, as origins show it."""
        return self.loaded.path.name

    def says(self, *path: str) -> bool:
        """Whether the profile has this key, rather than its default."""
        return self.loaded.lines.has(*path)

    def origin(self, *path: str) -> Origin:
        """The line of a key that the profile has; the launcher itself for a default."""
        if not self.says(*path):
            return OWN
        return Origin(kind="profile", file=self.file, line=self.loaded.lines.at(*path))

    def model_path(self) -> tuple[str, Origin]:
        """Where the weights lie; the engine's own model for a profile that names none."""
        if self.profile.model.path:
            return self.profile.model.path, self.origin("model")
        return self.facts.model_path or SIMULATED_MODEL, Origin(kind="engine")

    def user(self) -> tuple[str, Origin] | None:
        """Who serves, where the profile says it."""
        name = self.profile.engine.user
        return (name, self.origin("engine", "user")) if name else None

    def watch_port(self) -> int | None:
        """Of the watcher's own metrics: written, or beside the router's; None where nothing but the servers runs."""
        return next((a.ports[WATCH] for a in self.ports.values() if WATCH in a.ports), None)

    def gpu_count(self) -> int:
        """Cards of this machine, or as many as the profile speaks of."""
        known = self.facts.machine.gpus
        return len(known) if known else max((g + 1 for s in self.slots for g in s.gpus()[0]), default=0)


def context(loaded: Loaded, facts: Facts) -> Context:
    """The context of a profile on a machine; raises InputError where no port is left."""
    members = slots(loaded)
    wanted = [_wanted(slot) for slot in members]
    router, watch = loaded.profile.router, loaded.profile.watch
    watched = {WATCH: watch.metrics_port} if watch.metrics_port else {}
    if router:
        metrics = {"metrics": router.metrics_port} if router.metrics_port else {}
        purposes = ("http", "metrics", WATCH) if watched or watch.on_hang != "none" else ("http", "metrics")
        wanted.append(Wanted("router", purposes, {"http": router.port, **metrics, **watched}))
    elif watched:
        wanted.append(Wanted(WATCH, (WATCH,), watched))
    return Context(loaded, facts, members, assign(wanted, facts.machine.ephemeral))


def _wanted(slot: Slot) -> Wanted:
    purposes = ("http", "nccl", "bootstrap") if slot.role == "prefill" else ("http", "nccl")
    keys = {"http": "port", "nccl": "nccl_port", "bootstrap": "bootstrap_port"}
    written = {purpose: port for purpose in purposes if (port := slot.key(keys[purpose])[0])}
    attention = slot.settings.args.get("enable-dp-attention")
    return Wanted(slot.name, purposes, written, dp_attention=bool(attention and attention.value))
