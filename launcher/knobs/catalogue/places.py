"""Where catalogues lie: the shipped one beside this file, the site's, the user's."""

from __future__ import annotations

import os
from pathlib import Path

SITE = Path("/etc/pdlaunch/knobs")


def shipped_files() -> tuple[Path, ...]:
    """The catalogue that comes with the program."""
    return tuple(sorted(Path(__file__).parent.glob("*.yaml")))


def user_folder() -> Path:
    """``knobs`` in the user's configuration: XDG_CONFIG_HOME, else ~/.config."""
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".config") / "pdlaunch" / "knobs"


def local_files() -> tuple[Path, ...]:
    """The catalogues of this site and of this user, in the order in which they are laid over the shipped one."""
    return tuple(path for folder in (SITE, user_folder()) for path in sorted(folder.glob("*.yaml")))


def local_folder() -> Path:
    """Where a new declaration goes: the site's folder for root, the user's for anybody else."""
    return SITE if os.geteuid() == 0 else user_folder()
