"""Which folders of this machine are pdlaunch's, and which of them a deployment's."""

from __future__ import annotations

import os
import re
from pathlib import Path

from launcher.errors import InputError, PdlaunchError
from launcher.folders import cache_dir, deployments, place, state_dir
from launcher.render.layout import Layout

__all__ = ["cache_dir", "deployments", "layout", "run_dir", "state_dir"]

_NOT_A_DEPLOYMENT = frozenset({"engines"})
"""Folders beside the deployments': root keeps the CPU engine there."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def run_dir() -> Path:
    """Sockets and pids: PDLAUNCH_RUN_DIR, else /run/pdlaunch for root, else below XDG_RUNTIME_DIR or /tmp/pdlaunch-UID.

    Raises:
        PdlaunchError: the folder in /tmp was made by somebody else.
    """
    if os.environ.get("PDLAUNCH_RUN_DIR") or os.geteuid() == 0 or os.environ.get("XDG_RUNTIME_DIR"):
        return place("PDLAUNCH_RUN_DIR", Path("/run"), "XDG_RUNTIME_DIR", Path())
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


def _private(path: Path) -> Path:
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.geteuid() or path.is_symlink() or status.st_mode & 0o077:
        raise PdlaunchError(
            f"{path} is not a private folder of yours", hint="name another one in PDLAUNCH_RUN_DIR, with mode 0700"
        )
    return path
