"""The names of a deployment's units: ``pd-dsv4-flash.target`` and everything beside it."""

from __future__ import annotations

import re

from launcher.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST = 255 - len(".service.d")
"""Bytes that a file's name may have, a folder of drop-ins beside it included."""


def service_unit(deployment: str, service: str) -> str:
    """``pd-dsv4-flash-decode-0.service``; raises InputError for a name that no unit can have."""
    return _unit(deployment, f"-{service}", "service")


def target_unit(deployment: str) -> str:
    """The unit to start, stop and enable: all the others hang on it."""
    return _unit(deployment, "", "target")


def ready_unit(deployment: str) -> str:
    """The one-shot that ends when tokens came back on every path; the target waits for it."""
    return _unit(deployment, "-ready", "service")


def rejoin_unit(deployment: str) -> str:
    """The one-shot that asks for tokens after a server came back alone, and restarts its partner if none come."""
    return _unit(deployment, "-rejoin", "service")


def watch_unit(deployment: str) -> str:
    """`pdlaunch watch` of the deployment."""
    return _unit(deployment, "-watch", "service")


def verify_unit(deployment: str) -> str:
    """`pdlaunch verify` of the deployment, started by `verify_timer`."""
    return _unit(deployment, "-verify", "service")


def verify_timer(deployment: str) -> str:
    """The timer of `verify_unit`."""
    return _unit(deployment, "-verify", "timer")


def _unit(deployment: str, rest: str, kind: str) -> str:
    name = f"pd-{deployment}{rest}.{kind}"
    if not _NAME.fullmatch(deployment + rest):
        raise InputError(f"systemd cannot run a unit called {name!r}: letters, digits, '.', '_' and '-' only")
    if len(name) > _LONGEST:
        raise InputError(f"the name of a unit is longer than {_LONGEST} bytes: {name}", hint="give it a shorter name")
    return name
