"""Folders that a deployment writes to: how much room there is, and whether programs may run from there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folder:
    """The file system that a folder lies in, or would lie in."""

    path: str
    free: int
    """Bytes that this user may still write."""
    noexec: bool
    """Nothing can be executed from there."""
    readonly: bool


def folder(path: Path) -> Folder | None:
    """What the nearest existing folder above `path` offers; None where not even that can be asked."""
    for place in (path, *path.parents):
        try:
            status = os.statvfs(place)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        flags = status.f_flag
        free = status.f_bavail * status.f_frsize
        return Folder(str(path), free, bool(flags & os.ST_NOEXEC), bool(flags & os.ST_RDONLY))
    return None
