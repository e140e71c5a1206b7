"""YAML that every reader takes for the same and a person can diff: one value a line, no folding, no anchors.

Text is bare only where no YAML reader, old or new, could take it for anything else; the rest is in double quotes. What
is escaped there follows from a fixed table and not from a library's, so that the bytes are the same everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from launcher.profile.scalars import becomes

_BARE = re.compile(r"(?:--?[A-Za-z]|[A-Za-z_/])[A-Za-z0-9_/.+@=%-]*")
_HEXADECIMAL = re.compile(r"[0-9a-f]{12,}")
"""A digest: bare it would be text or a number, as its digits fall."""
_ESCAPED = re.compile('[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|["\\\\]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONGEST_KEY = 1000
"""YAML takes a key of up to 1024 characters for one without being told."""


class Flow(list[Any]):
    """A list to be written on one line, in brackets."""


def dump(document: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """The text of `document`, keys in their order; `comments` go above the top-level key that they name."""
    lines: list[str] = []
    for key, value in document.items():
        lines += [f"# {line}" if line else "" for line in comments.get(key, "").splitlines()]
        lines += _entry(key, value, "")
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    name = scalar(key)
    if len(name) > _LONGEST_KEY:
        yield f"{indent}? {name}"
        name = ""
    if isinstance(value, Mapping) and value:
        yield f"{indent}{name}:"
        for inner, item in value.items():
            yield from _entry(inner, item, indent + "  ")
    elif isinstance(value, list | tuple) and value and not isinstance(value, Flow):
        yield f"{indent}{name}:"
        for item in value:
            yield from _item(item, indent + "  ")
    else:
        yield f"{indent}{name}: {_inline(value)}"


def _item(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        lead = "- "
        for key, inner in value.items():
            first, *rest = _entry(key, inner, indent + "  ")
            yield f"{indent}{lead}{first.lstrip()}"
            yield from rest
            lead = "  "
    else:
        yield f"{indent}- {_inline(value)}"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {_inline(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """One value as YAML; raises TypeError for what is no text, number, bool or None."""
    match value:
        case None:
            return "~"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)
        case str():
            return _text(value)
    raise TypeError(f"a {type(value).__name__} has no place in a lock")


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise TypeError(f"{value} has no place in a lock")
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    digits, e, exponent = repr(value).partition("e")
    # YAML 1.1 knows a number with an exponent by its point.
    return f"{digits if '.' in digits else f'{digits}.0'}{e}{exponent}"


def _text(value: str) -> str:
    bare = _BARE.fullmatch(value) and not _HEXADECIMAL.fullmatch(value)
    if bare and value not in {"true", "false"} and becomes(value) is None:
        return value
    return '"' + _ESCAPED.sub(_escape, value) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
