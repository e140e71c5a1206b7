"""Every write of the store: whole or not at all, on the disk when the call returns, and refused in words."""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from launcher import durable
from launcher.durable import TEMPORARY, remove, remove_tree, sync_folder, write, write_all
from launcher.errors import PdlaunchError

__all__ = [
    "TEMPORARY",
    "empty_tree",
    "in_words",
    "make_folder",
    "remove",
    "remove_tree",
    "replace",
    "shared_mode",
    "sync_folder",
    "write",
    "write_all",
]


def replace(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step, open to the group where its folder is; recovery removes what is left."""
    durable.replace(path, content, shared_mode(path.parent, 0o644))


def make_folder(path: Path) -> None:
    """Make `path` and what is missing above it; each is open to the group where its parent is."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir()
        path.chmod(shared_mode(path.parent, 0o755))
        sync_folder(path.parent)


def shared_mode(folder: Path, mode: int) -> int:
    """`mode`, writable for the group as well where `folder` is: a state folder shared by operators stays shared."""
    above = folder.stat().st_mode
    return mode | 0o020 | (above & stat.S_ISGID if mode & 0o111 else 0) if above & stat.S_IWGRP else mode


def empty_tree(path: Path) -> None:
    """Remove everything in the folder `path`, and leave the folder."""
    path.chmod(0o700)
    for inside in path.iterdir():
        remove_tree(inside)


@contextlib.contextmanager
def in_words(doing: str, place: Path) -> Iterator[None]:
    """Turn what the system refuses while `doing` something below `place` into one clear error.

    Raises:
        PdlaunchError: says what, where, why, and how to make room or get access.
    """
    try:
        yield
    except OSError as error:
        raise PdlaunchError(f"cannot {doing}: {_reason(error, place)}", hint=_hint(error, place)) from error


def _reason(error: OSError, place: Path) -> str:
    where = error.filename or place
    match error.errno:
        case errno.ENOSPC:
            return f"no space left on the disk that holds {place}"
        case errno.EDQUOT:
            return f"the disk quota is used up on the disk that holds {place}"
        case errno.EROFS:
            return f"{place} lies on a read-only file system"
        case errno.EACCES | errno.EPERM:
            return f"{where} belongs to {_owner(where)}, and this is {_user(os.geteuid())}"
    return f"{where}: {error.strerror}"


def _hint(error: OSError, place: Path) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"nothing is lost; make room (`pdlaunch prune`, `df -h {place}`) and run the same again"
        case errno.EROFS:
            return f"remount it writable{_or_elsewhere(place)}"
        case errno.EACCES | errno.EPERM:
            return f"run it as that user or as root{_or_elsewhere(place)}"
    return f"see: ls -ld {place}"


def _or_elsewhere(place: Path) -> str:
    """The variable that says where such folders lie, with what it says now; empty for a folder that is not ours."""
    from launcher.store.holds_folder import folders
    from launcher.store.places import state_dir

    places = {"PDLAUNCH_STATE_DIR": (state_dir(),), "PDLAUNCH_HOLDS_DIR": folders()}
    for variable, ours in places.items():
        for folder in ours:
            if place.is_relative_to(folder):
                return f", or name another folder in {variable} (now {folder})"
    return ""


def _owner(path: str | Path) -> str:
    for existing in (Path(path), *Path(path).parents):
        with contextlib.suppress(OSError):
            return _user(existing.stat().st_uid)
    return "someone else"


def _user(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
