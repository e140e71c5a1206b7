"""Words for bash: whatever the value, it arrives unchanged in the process.

Plain words stay bare, others are single-quoted, and a word with control characters is written as ``$'…'`` so that a
script keeps one value a line (bash manual, ANSI-C Quoting).
"""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z0-9_@%+:,./=-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def word(text: str) -> str:
    """`text` as one bash word; raises ValueError for NUL, which no argument or variable can hold."""
    if "\0" in text:
        raise ValueError("a NUL byte cannot be part of an argument or of a variable")
    if _BARE.fullmatch(text):
        return text
    if not _CONTROL.search(text):
        return "'" + text.replace("'", "'\\''") + "'"
    return "$'" + "".join(_ESCAPES.get(c) or (f"\\x{ord(c):02x}" if _CONTROL.match(c) else c) for c in text) + "'"


def assignment(name: str, value: str) -> str:
    """``NAME=value`` as one bash word; the name is left bare."""
    return f"{name}={word(value)}" if value else f"{name}="


def comment(text: str) -> str:
    """`text` as the rest of a comment line."""
    return _CONTROL.sub(" ", text)
