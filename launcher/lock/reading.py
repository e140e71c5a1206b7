"""Reading a lock's file: whatever is wrong with it, one error that names it."""

from __future__ import annotations

from pathlib import Path

from launcher.errors import InputError
from launcher.lock.file import from_yaml
from launcher.lock.model import Lock

LARGEST = 8 * 1024 * 1024
"""Bytes of a lock; one of 24 servers has 150 thousand."""


def read_lock(path: Path) -> Lock:
    """The lock in the file at `path`; raises InputError for one that is missing, too large, cut short or edited."""
    try:
        if not path.is_file():
            raise InputError(f"{path}: there is no such file", hint="pdlaunch lock PROFILE writes it")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise InputError(f"{path}: is larger than {LARGEST >> 20} MiB, so it is no lock")
    try:
        return from_yaml(content.decode(), path)
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text, so it is no lock") from None
