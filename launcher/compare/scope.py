"""Several services in one word, the word that a profile uses for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping


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
