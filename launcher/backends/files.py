"""Writing below the deployment's folder: whole or not at all, and a refusal of the system in words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from launcher import durable
from launcher.errors import PdlaunchError


def replace(path: Path, text: str) -> None:
    """Put `text` at `path` in one step; a reader sees the old file or the new one, also after a power failure.

    What says so already is left alone: it needs no room. Raises PdlaunchError where the system refuses.
    """
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8") == text:
            return
    with in_words(path):
        durable.replace(path, text.encode(), 0o644)


@contextlib.contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Turn an OSError into a PdlaunchError that says what could not be written and why."""
    try:
        yield
    except OSError as error:
        raise PdlaunchError(
            f"cannot write {path}: {error.strerror}", hint=f"see `df -h {path.parent}` and `ls -ld {path.parent}`"
        ) from error
