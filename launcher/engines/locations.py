"""Where engines that pdlaunch installs or knows of are kept on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_SYSTEM = Path("/var/lib/pdlaunch/engines")


def engines_dir(environ: Mapping[str, str] | None = None, *, root: bool | None = None) -> Path:
    """The folder of installed engines and of the registry; not necessarily there yet.

    ``$PDLAUNCH_DATA_DIR/engines`` where that is set, ``/var/lib/pdlaunch/engines`` for root, else below
    ``$XDG_DATA_HOME`` or ``~/.local/share``. `environ` and `root` are this process's unless given. An XDG path that is
    not absolute is ignored, as https://specifications.freedesktop.org/basedir-spec/latest/ asks.
    """
    variables = os.environ if environ is None else environ
    if own := variables.get("PDLAUNCH_DATA_DIR"):
        return Path(own).absolute() / "engines"
    if os.geteuid() == 0 if root is None else root:
        return _SYSTEM
    shared = Path(variables.get("XDG_DATA_HOME", ""))
    home = Path(variables.get("HOME") or Path.home())
    return (shared if shared.is_absolute() else home / ".local" / "share") / "pdlaunch" / "engines"
