"""Requests whose other half went with a partner that was started anew: they wait for a time-out, and nothing hangs.

Without them a cure would call for the next one: the restart of a hung decode leaves its prefill with requests that the
new decode knows nothing of (seen, 25 s after each such restart).
"""

from __future__ import annotations

from collections.abc import Mapping

from launcher.watch.sample import Server

_PARTNER = {"prefill": "decode", "decode": "prefill"}


class Leftovers:
    """Remembers them by server; `roles` has the role of each."""

    def __init__(self, roles: Mapping[str, str]) -> None:
        self._roles = roles
        self._pids: dict[str, int] = {}
        self._left: dict[str, int] = {}

    def take(self, servers: Mapping[str, Server]) -> Mapping[str, int]:
        """How many of each server's requests between the roles are leftovers, after one more look."""
        there = {name: server for name, server in servers.items() if server.ready and server.pid is not None}
        renewed = {name for name, server in there.items() if self._pids.get(name, server.pid) != server.pid}
        roles = {self._roles.get(name) for name in renewed}
        for name, server in there.items():
            between = sum(rank.between for rank in server.ranks)
            if name in renewed:
                self._left.pop(name, None)
            elif _PARTNER.get(self._roles.get(name, "")) in roles:
                self._left[name] = between
            self._left[name] = min(self._left.get(name, 0), between)
        self._pids |= {name: server.pid for name, server in there.items() if server.pid is not None}
        return {name: left for name, left in self._left.items() if left}
