"""The old units of adopted services, driven with systemctl."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from launcher.adopt.origins import Unit
from launcher.adopt.record import OldUnit
from launcher.errors import PdlaunchError

_PATIENCE = 600.0
"""Seconds for a unit to stop; systemd itself kills after the unit's TimeoutStopSec."""


def is_enabled(unit: Unit) -> bool:
    """Whether it is started at boot."""
    return _systemctl(unit.user, "is-enabled", unit.name, check=False).stdout.strip().startswith("enabled")


def stop_and_disable(units: Sequence[OldUnit]) -> None:
    """Stop units now and keep them from starting at boot; repeatable. Raises PdlaunchError in systemctl's words."""
    for unit in units:
        _systemctl(unit.user, "disable", "--now", unit.name)


def disable(units: Sequence[OldUnit]) -> None:
    """Keep units from starting at boot. Raises PdlaunchError in systemctl's words."""
    for unit in units:
        _systemctl(unit.user, "disable", unit.name)


def enable(units: Sequence[OldUnit]) -> None:
    """Have units started at boot again; nothing is started now. Raises PdlaunchError in systemctl's words."""
    for unit in units:
        _systemctl(unit.user, "enable", unit.name)


def _systemctl(user: bool, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", *(["--user"] if user else []), "--no-ask-password", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except FileNotFoundError:
        raise PdlaunchError(
            f"cannot {words[0]} {words[-1]}: there is no systemctl here", hint="run pdlaunch where the unit runs"
        ) from None
    except subprocess.TimeoutExpired:
        raise PdlaunchError(
            f"`{' '.join(command)}` took longer than {_PATIENCE:g} s", hint=f"systemctl status {words[-1]}"
        ) from None
    if check and done.returncode:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise PdlaunchError(f"`{' '.join(command)}` failed: {said}", hint="run the same as root")
    return done
