"""Write a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Put `text` in the place of `path` in one step, on the disk before the name points to it.

    Readable for everybody, as its folder allows. Raises OSError; a failed try leaves the former content.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
