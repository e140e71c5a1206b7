"""The servers that a profile asks for, in start order: prefills, then decodes, or the aggregated ones."""

from __future__ import annotations

from dataclasses import dataclass

from launcher.plan.model import Origin, RoleName
from launcher.profile import Loaded, Merged, Replica, Role, settings_of

SERVER_ROLES: tuple[RoleName, ...] = ("prefill", "decode", "aggregated")


@dataclass(frozen=True, slots=True)
class Slot:
    """One server to be: its role, its number, its settings and the line of each of its keys."""

    role: RoleName
    index: int
    loaded: Loaded
    settings: Merged

    @property
    def name(self) -> str:
        """``prefill-0``."""
        return f"{self.role}-{self.index}"

    @property
    def replica(self) -> Replica:
        """The keys of this server, the role's where it has no replicas of its own."""
        return self._role.replicas[self.index] if self._role.replicas else self._role

    @property
    def _role(self) -> Role:
        role: Role = getattr(self.loaded.profile, self.role)
        return role

    def key(self, name: str) -> tuple[int | None, Origin]:
        """A key's value (``tp``, ``port``) and where it stands: the replica's, else the role's."""
        own = getattr(self.replica, name)
        if own is not None or not self._role.replicas:
            return own, self.origin(*self._path(), name)
        return getattr(self._role, name), self.origin(self.role, name)

    def gpus(self) -> tuple[tuple[int, ...], Origin]:
        """The cards of this server and the line that gives them."""
        return self.replica.gpus, self.origin(*self._path(), "gpus").model_copy(update={"note": "gpus"})

    def origin(self, *path: str | int) -> Origin:
        """The profile's line for a path, or for the nearest key above it."""
        return Origin(kind="profile", file=self.loaded.path.name, line=self.loaded.lines.at(*path))

    def size(self) -> dict[str, tuple[int, Origin]]:
        """The parallel sizes as flags; the tensor-parallel size defaults to the number of cards."""
        gpus, gpus_origin = self.gpus()
        tp, tp_origin = self.key("tp")
        sizes = {"tp-size": (tp, tp_origin) if tp else (max(1, len(gpus)), gpus_origin)}
        for key in ("dp", "ep"):
            value, origin = self.key(key)
            if value:
                sizes[f"{key}-size"] = (value, origin)
        return sizes

    def _path(self) -> tuple[str | int, ...]:
        return (self.role, "replicas", self.index) if self._role.replicas else (self.role,)


def slots(loaded: Loaded) -> tuple[Slot, ...]:
    """Every server of the profile, in start order."""
    found = []
    for name in SERVER_ROLES:
        role: Role | None = getattr(loaded.profile, name)
        if role is not None:
            count = max(1, len(role.replicas))
            found += [Slot(name, i, loaded, settings_of(loaded, name, i)) for i in range(count)]
    return tuple(found)
