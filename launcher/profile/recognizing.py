"""Telling a lock from a profile where a command takes either: by what stands in the file, without reading it as one."""

from __future__ import annotations

from pathlib import Path


def is_lock(text: str) -> bool:
    """Whether a file's text is meant to be a lock, whole or not."""
    first = next((line for line in text.splitlines() if line and not line.startswith("#")), "")
    return first.startswith("lock:")


def is_lock_file(path: Path) -> bool:
    """Whether a lock is meant, by what stands in the file; one that cannot be read is told by its name."""
    if not path.is_file():  # a pipe would be waited for
        return path.name.endswith(".lock.yaml")
    try:
        with path.open("rb") as file:
            return is_lock(file.read(4096).decode(errors="replace"))
    except OSError:
        return path.name.endswith(".lock.yaml")
