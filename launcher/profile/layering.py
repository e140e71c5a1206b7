"""The levels of a profile at which settings may stand."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile.model import Profile, Role, Settings
from launcher.profile.serving import ROLES
from launcher.profile.tree import KeyPath


def levels(profile: Profile) -> Iterator[tuple[KeyPath, Settings]]:
    """Every level with its path: the engine, each role, each replica, the router."""
    yield ("engine",), profile.engine
    for name in ROLES:
        role: Role | None = getattr(profile, name)
        if role is not None:
            yield (name,), role
            for index, replica in enumerate(role.replicas):
                yield (name, "replicas", index), replica
    if profile.router:
        yield ("router",), profile.router
