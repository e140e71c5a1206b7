"""What a server says that it runs: its resolved arguments and its own variables, from /server_info."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from launcher.lock.observed import redacted
from launcher.observe.http import Endpoint


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server said."""

    arguments: Mapping[str, Any]
    """Every argument with the value that it resolved to, by its Python name."""
    environ: Mapping[str, str]
    """Its own variables; none unless SGLANG_EXPOSE_OWN_ENV_VARS is set."""


def server_info(endpoint: Endpoint, secrets: Collection[str] = (), timeout: float = 2.0) -> ServerInfo | None:
    """The answer of the server at `endpoint`; None where none comes within `timeout` seconds.

    Keys, and every text that holds one of the values `secrets`, are dropped before anything looks at the rest.
    """
    body = endpoint.get("/server_info", timeout).json()
    return understand(redacted(body, secrets)) if isinstance(body, dict) else None


def understand(body: Mapping[str, Any]) -> ServerInfo:
    """The parts of an answer that are compared."""
    states = body.get("internal_states")
    variables: dict[str, str] = {}
    for state in states if isinstance(states, list) else ():
        found = state.get("env_vars") if isinstance(state, dict) else None
        variables |= {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
    return ServerInfo({name: value for name, value in body.items() if name != "internal_states"}, variables)
