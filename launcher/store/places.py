"""Which folders of this machine are pdlaunch's, and which of them a deployment's."""

from __future__ import annotations

import os
import re
from pathlib import Path

from launcher.errors import InputError, PdlaunchError
from launcher.render.layout import Layout

_NOT_A_DEPLOYMENT = frozenset({"engines"})
"""Folders beside the deployments': root keeps the CPU engine there."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def state_dir() -> Path:
    """The folder of all deployments: PDLAUNCH_STATE_DIR, else /var/lib/pdlaunch for root, else the XDG state folder."""
    return _place("PDLAUNCH_STATE_DIR", Path("/var/lib"), "XDG_STATE_HOME", Path.home() / ".local/state")


def cache_dir() -> Path:
    """What may be deleted: PDLAUNCH_CACHE_DIR, else /var/cache/pdlaunch for root, else the XDG cache folder."""
    return _place("PDLAUNCH_CACHE_DIR", Path("/var/cache"), "XDG_CACHE_HOME", Path.home() / ".cache")


def run_dir() -> Path:
    """Sockets and pids: PDLAUNCH_RUN_DIR, else /run/pdlaunch for root, else below XDG_RUNTIME_DIR or /tmp/pdlaunch-UID.

    Raises:
        PdlaunchError: the folder in /tmp was made by somebody else.
    """
    if os.environ.get("PDLAUNCH_RUN_DIR") or os.geteuid() == 0 or os.environ.get("XDG_RUNTIME_DIR"):
        return _place("PDLAUNCH_RUN_DIR", Path("/run"), "XDG_RUNTIME_DIR", Path())
    return _private(Path(f"/tmp/pdlaunch-{os.geteuid()}"))  # noqa: S108 - made 0700 and checked below


def layout(deployment: str) -> Layout:
    """Where the files of `deployment` lie; makes nothing.

    Raises:
        InputError: the name could not be a folder's name.
    """
    if deployment in _NOT_A_DEPLOYMENT:
        raise InputError(f"a deployment cannot be called {deployment!r}: that folder is pdlaunch's own")
    if not _NAME.fullmatch(deployment):
        raise InputError(
            f"{deployment!r} is no deployment name: letters, digits, '.', '_' and '-', at most 63, the first no sign",
            hint="see the names with: pdlaunch status",
        )
    return Layout(deployment=deployment, state=state_dir() / deployment, cache=cache_dir(), run=run_dir() / deployment)


def deployments() -> tuple[str, ...]:
    """The names of all deployments that have a state here, sorted."""
    place = state_dir()
    if not place.is_dir():
        return ()
    return tuple(sorted(path.parent.name for path in place.glob("*/generations")))


def _place(variable: str, system: Path, xdg: str, home: Path) -> Path:
    if chosen := os.environ.get(variable):
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return system / "pdlaunch"
    # The specification says that a relative path there is to be ignored.
    base = Path(os.environ.get(xdg, ""))
    return (base if base.is_absolute() else home) / "pdlaunch"


def _private(path: Path) -> Path:
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.geteuid() or path.is_symlink() or status.st_mode & 0o077:
        raise PdlaunchError(
            f"{path} is not a private folder of yours", hint="name another one in PDLAUNCH_RUN_DIR, with mode 0700"
        )
    return path
