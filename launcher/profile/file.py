"""A profile's file as text: every way in which a file can fail to be one is one clear error."""

from __future__ import annotations

import re
import stat
from difflib import get_close_matches
from pathlib import Path

from launcher.errors import InputError, Problem

LARGEST = 256 * 1024
"""Bytes. The longest known profile has 8 thousand; PyYAML reads about 100 thousand a second."""

# What YAML does not take, and the line breaks that YAML counts but no editor does.
_ODD = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029\ufeff]|\r(?!\n)")


def read_text(path: Path) -> str:
    """The text of the profile at `path`.

    Raises InputError where it is missing, no regular file, unreadable, too large or not UTF-8 text.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise refused(path, "is a folder; a profile is a file" if path.is_dir() else "is not a regular file")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise refused(path, "there is no such file", hint=_neighbour(path)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise refused(path, f"cannot be read: {reason}") from None
    return _decoded(path, data)


def refused(path: Path, error: str, *, line: int | None = None, hint: str | None = None) -> InputError:
    """The one error of a file that is no profile at all."""
    problem = Problem(where=f"{path}:{line}" if line else str(path), subject="", error=error)
    return InputError(f"{path}: 1 error", hint=hint, problems=(problem,))


def _decoded(path: Path, data: bytes) -> str:
    if len(data) > LARGEST:
        raise refused(path, f"is larger than {LARGEST // 1024} KiB, so it is no profile")
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise refused(path, "begins with a byte order mark; save it as UTF-8 without one", line=1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refused(path, f"not UTF-8 text: byte 0x{data[error.start]:02x}; save it as UTF-8", line=line) from None
    odd = _ODD.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        raise refused(path, f"holds a character that no profile needs, U+{ord(odd[0]):04X}", line=line)
    return text


def _neighbour(path: Path) -> str | None:
    try:
        names = [p.name for p in path.parent.iterdir() if p.suffix in {".yaml", ".yml"}]
    except OSError:
        return None
    near = get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else None
