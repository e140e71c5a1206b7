"""Hints: the command to type next, complete, so that it does the same where several deployments are. Pure."""

from __future__ import annotations

import re

SCOPED = frozenset(
    {
        "confirm",
        "diff",
        "doctor",
        "down",
        "explain",
        "history",
        "lock",
        "logs",
        "name",
        "prune",
        "restart",
        "rollback",
        "status",
        "verify",
        "watch",
    }
)
"""Commands that choose their deployment with ``-d``; a test holds this against the commands themselves."""
_COMMAND = re.compile(r"\bpdlaunch (?P<verb>[a-z]+)(?P<rest>(?: [^;`,()\n]*)?)")
_HAS_ONE = re.compile(r" -d\b| PROFILE\b|\.ya?ml\b| --help\b")


def complete(text: str, deployment: str | None) -> str:
    """`text` with ``-d`` and the deployment in every command that needs it and has none."""
    if deployment is None:
        return text
    return _COMMAND.sub(lambda found: _scoped(found, deployment), text)


def _scoped(found: re.Match[str], deployment: str) -> str:
    if found["verb"] not in SCOPED or _HAS_ONE.search(found["rest"]):
        return found[0]
    return f"pdlaunch {found['verb']} -d {deployment}{found['rest']}"
