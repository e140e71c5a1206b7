"""The servers that a profile asks for, with their cards and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from launcher.profile.lines import Lines
from launcher.profile.model import Profile, Replica, Role
from launcher.profile.tree import KeyPath

ROLES = ("prefill", "decode", "aggregated")


@dataclass(frozen=True, slots=True)
class Server:
    """One server of a role; its sizes are the replica's, else the role's."""

    role: str
    index: int
    path: KeyPath
    """Where its own keys stand: the role, or the replica."""
    keys: Replica
    tp: int
    """The number of GPUs where nothing is written, 1 without GPUs."""
    dp: int
    ep: int

    @property
    def name(self) -> str:
        """``prefill-0``."""
        return f"{self.role}-{self.index}"

    def at(self, key: str, lines: Lines) -> KeyPath:
        """Where `key` of this server stands: in the replica, else in the role."""
        own = (*self.path, key)
        return own if lines.has(*own) or not lines.has(self.role, key) else (self.role, key)


def servers(profile: Profile) -> Iterator[Server]:
    """Every server of `profile`, prefills first."""
    for name in ROLES:
        role: Role | None = getattr(profile, name)
        if role is None:
            continue
        for index, keys in enumerate(role.replicas or (role,)):
            path: KeyPath = (name, "replicas", index) if role.replicas else (name,)
            tp = keys.tp or role.tp or max(1, len(keys.gpus))
            yield Server(name, index, path, keys, tp, keys.dp or role.dp or 1, keys.ep or role.ep or 1)
