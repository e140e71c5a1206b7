"""Write a file whole or not at all."""

from __future__ import annotations

import os
from glob import escape
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Put `text` in the place of `path` in one step, on the disk before the name points to it.

    Readable for everybody, as its folder allows. Raises OSError; a failed try leaves the former content.
    """
    _sweep(path)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove what writers left that were killed; one that lives will rename its own."""
    for left in path.parent.glob(f".{escape(path.name)}.*"):
        pid = left.suffix.removeprefix(".")
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            left.unlink(missing_ok=True)
