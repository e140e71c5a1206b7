"""Where pdlaunch keeps what it writes on this machine: known without loading anything, since completion asks it too."""

from __future__ import annotations

import os
from pathlib import Path


def state_dir() -> Path:
    """The folder of all deployments: PDLAUNCH_STATE_DIR, else /var/lib/pdlaunch for root, else the XDG state folder."""
    return place("PDLAUNCH_STATE_DIR", Path("/var/lib"), "XDG_STATE_HOME", Path.home() / ".local/state")


def cache_dir() -> Path:
    """What may be deleted: PDLAUNCH_CACHE_DIR, else /var/cache/pdlaunch for root, else the XDG cache folder."""
    return place("PDLAUNCH_CACHE_DIR", Path("/var/cache"), "XDG_CACHE_HOME", Path.home() / ".cache")


def deployments() -> tuple[str, ...]:
    """The names of all deployments that have a state here, sorted."""
    folder = state_dir()
    if not folder.is_dir():
        return ()
    names = (path.parent.name for path in folder.glob("*/generations"))
    return tuple(sorted(name for name in names if not name.startswith(".")))  # one that is being forgotten


def place(variable: str, system: Path, xdg: str, home: Path) -> Path:
    """The folder that `variable` names, else one of the system's for root, else one of the user's."""
    if chosen := os.environ.get(variable):
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return system / "pdlaunch"
    # The specification says that a relative path there is to be ignored.
    base = Path(os.environ.get(xdg, ""))
    return (base if base.is_absolute() else home) / "pdlaunch"
