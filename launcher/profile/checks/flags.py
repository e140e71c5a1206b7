"""Flags that a profile spells wrongly, may not give because pdlaunch owns them, or should not give at all."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile.checks.owned import owned_by_engine, owned_by_router
from launcher.profile.findings import DELETE, Finding
from launcher.profile.layering import levels
from launcher.profile.lines import Lines
from launcher.profile.model import Profile
from launcher.profile.serving import ROLES
from launcher.profile.tree import KeyPath
from launcher.profile.waivers import allows

_SECRETS = {
    **dict.fromkeys(
        ("api-key", "admin-api-key", "ssl-keyfile-password"), "ps, /server_info and the engine's log show it"
    ),
    **dict.fromkeys(("control-plane-api-keys", "oracle-password"), "ps shows it"),
}
"""Flag to who shows the secret; SGLang 0.5.23 and sglang-router 0.3.2 (measured)."""


def check_flags(profile: Profile, lines: Lines) -> Iterator[Finding]:
    """Find flags that are misspelt by form, owned by pdlaunch, or secrets on a command line."""
    roles = " and ".join(role for role in ROLES if lines.has(role))
    for path, level in levels(profile):
        for name in level.args:
            here: KeyPath = (*path, "args", name)
            flag = name.lstrip("-").partition("=")[0].replace("_", "-")
            value = lines.spelled(*here) or "..."
            home = roles if path == ("engine",) else str(path[0])
            owned = owned_by_router(flag, value) if home == "router" else owned_by_engine(flag, home, value)
            if owned:
                yield Finding(here, *owned)
            elif flag in _SECRETS:
                if not allows(profile, here, None):
                    yield _secret(here, flag)
            elif flag != name:
                yield _misspelt(here, name, flag, value)


def _secret(here: KeyPath, flag: str) -> Finding:
    error = (
        f"a secret that exists only as a flag: {_SECRETS[flag]}. Workers listen on the engine's host only; "
        "put the key in the proxy in front, or name this flag under `allow`"
    )
    return Finding(here, error, DELETE)


def _misspelt(here: KeyPath, name: str, flag: str, value: str) -> Finding:
    _, equals, after = name.partition("=")
    if equals:
        reason = "a flag and its value are key and value here"
    elif name.startswith("-"):
        reason = "flags stand without dashes in front"
    else:
        reason = "flags are spelled with dashes"
    return Finding(here, reason, f"{flag}: {after or value}")
