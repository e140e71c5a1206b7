"""The same change of several services as one, under the word that a profile uses for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from launcher.compare.change import Change


def scope(names: Collection[str], roles: Mapping[str, str]) -> str:
    """``engine`` for all servers of several roles, ``decode`` for all of it, ``all`` with the router; else names.

    `roles` has every service of both sides.
    """
    chosen = set(names)
    engine = {name for name, role in roles.items() if role != "router"}
    if chosen == set(roles) and len({roles[name] for name in chosen}) > 1 and chosen != engine:
        return "all"
    if chosen == engine and len({roles[name] for name in chosen}) > 1:
        return "engine"
    for role in dict.fromkeys(roles[name] for name in names):
        if chosen == {name for name in roles if roles[name] == role}:
            return role
    return ", ".join(names)


def fold(single: Iterable[Change], roles: Mapping[str, str]) -> tuple[Change, ...]:
    """One change instead of several where the same happened to several services."""
    found: dict[tuple[str, str, str | None, str | None], list[Change]] = {}
    for change in single:
        before, after = (side.value if side else None for side in (change.before, change.after))
        found.setdefault((change.kind, change.name, before, after), []).append(change)
    return tuple(_folded(same, roles) for same in found.values())


def _folded(same: list[Change], roles: Mapping[str, str]) -> Change:
    names = tuple(change.services[0] for change in same)
    return replace(same[0], services=names, scope=scope(names, roles))
