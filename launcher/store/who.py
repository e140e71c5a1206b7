"""Who acts: a person behind sudo, or an assistant that says its name."""

from __future__ import annotations

import contextlib
import os
import pwd
from pathlib import Path

_UNSET = 2**32 - 1
"""The login uid of a process that no login started: audit's (uid_t) -1."""


def who() -> str:
    """PDLAUNCH_BY, else the user who logged in (also behind su and sudo), else SUDO_USER, else the user's name."""
    for name in (os.environ.get("PDLAUNCH_BY"), _login(), os.environ.get("SUDO_USER")):
        if name and (printable := "".join(c for c in name if c.isprintable()).strip()):
            return printable
    return name_of(os.geteuid())


def _login() -> str | None:
    with contextlib.suppress(OSError, ValueError):
        uid = int(Path("/proc/self/loginuid").read_text())
        return None if uid == _UNSET else name_of(uid)
    return None


def name_of(uid: int) -> str:
    """The user's name, or ``uid 1234``."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
