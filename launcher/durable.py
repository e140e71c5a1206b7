"""Writing that survives a kill and a power failure: whole or not at all, on the disk when the call returns.

All raise OSError, and leave what was there before.
"""

from __future__ import annotations

import os
import shutil
from glob import escape
from pathlib import Path

TEMPORARY = ".tmp"
"""Suffix of what is being written by the only writer; whoever comes next may remove it."""


def write(path: Path, content: bytes, mode: int) -> None:
    """Make the new file `path` with exactly these permission bits; on the disk, its name only after `sync_folder`."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, content)
        os.fchmod(fd, mode)
        os.fsync(fd)
    finally:
        os.close(fd)


def replace(path: Path, content: bytes, mode: int) -> None:
    """Put `content` at `path` in one step: a reader sees the old file or the new one. For the only writer."""
    _put(path, path.with_name(path.name + TEMPORARY), content, mode)


def write_whole(path: Path, text: str) -> None:
    """The same for a file that others may be writing too, and everybody may read: one of them comes last.

    What writers left that were killed is removed.
    """
    for left in path.parent.glob(f".{escape(path.name)}.*"):
        pid = left.suffix.removeprefix(".")
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            left.unlink(missing_ok=True)
    _put(path, path.with_name(f".{path.name}.{os.getpid()}"), text.encode(), 0o644)


def _put(path: Path, temporary: Path, content: bytes, mode: int) -> None:
    temporary.unlink(missing_ok=True)
    try:
        write(temporary, content, mode)
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Take `path` away for good; fine when it is not there."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def remove_tree(path: Path) -> None:
    """Remove a file or a tree, read-only folders included; fine when it is not there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        for folder, _, _ in os.walk(path):
            Path(folder).chmod(0o700)
        shutil.rmtree(path)


def write_all(fd: int, content: bytes) -> None:
    """`os.write` until everything is written."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_folder(path: Path) -> None:
    """Force the names in a folder to the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
