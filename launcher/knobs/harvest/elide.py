"""Leaves out the bodies of functions that hold no line of interest, so that the rest parses many times as fast.

Line numbers stay. A body that is left out becomes a lone ``raise``; whoever looks into it all the same gets an
`ElidedError`, upon which the file is read again as a whole: nothing is lost, and only few files are read twice.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable

from launcher.knobs.harvest.frames import FunctionNode

_TOKEN = re.compile(rb"\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*", re.DOTALL)
_HEAD = re.compile(rb"( *)(?:async +)?def +\w")
_SHORTEST = 3  # lines; less is not worth a line of its own
_LONGEST_HEADER = 200


class ElidedError(Exception):
    """A function's body was asked for that had been left out."""


def body_of(function: FunctionNode) -> list[ast.stmt]:
    """The statements of a function; raises ElidedError where they were left out. A lambda has none."""
    if isinstance(function, ast.Lambda):
        return []
    if len(function.body) == 1 and isinstance(function.body[0], ast.Raise) and function.body[0].exc is None:
        raise ElidedError(function.name)
    return function.body


def elided(source: bytes, lines: Iterable[int]) -> bytes | None:
    """`source` without the bodies that hold none of `lines`; None where its strings do not end."""
    quoted = _lines_in_strings(source)
    if quoted is None or b"\r" in source or b"\t" in source or b"\f" in source:
        return None
    text = source.split(b"\n")
    kept, wanted, at = list(text), sorted(lines), 0
    while at < len(text):
        head = _HEAD.match(text[at]) if b"def " in text[at] and at not in quoted else None
        first = None if head is None else _after_header(text, at, len(head.group(1)), quoted)
        if head is None or first is None:
            at += 1
            continue
        end = _end_of_body(text, first, len(head.group(1)), quoted)
        position = bisect_left(wanted, at + 1)
        of_interest = position < len(wanted) and wanted[position] <= end
        if not of_interest and end - first >= _SHORTEST:
            kept[first] = b" " * (len(head.group(1)) + 1) + b"raise"
            kept[first + 1 : end] = [b""] * (end - first - 1)
        at = end
    return b"\n".join(kept)


def _after_header(text: list[bytes], at: int, indent: int, quoted: set[int]) -> int | None:
    """The index of the first line of the body; None where the header is not one of the two usual forms."""
    if _code(text[at]).endswith(b":"):
        return at + 1
    for index in range(at + 1, min(at + _LONGEST_HEADER, len(text))):
        if index in quoted:
            return None
        if text[index][: indent + 1] == b" " * indent + b")":
            return index + 1 if _code(text[index]).endswith(b":") else None
    return None


def _end_of_body(text: list[bytes], first: int, indent: int, quoted: set[int]) -> int:
    """The index of the line after the body: the first that is indented no deeper than the header."""
    deeper = slice(indent, indent + 1)
    for index in range(first, len(text)):
        line = text[index]
        if line[deeper] in (b" ", b"") or index in quoted:
            continue
        if line.lstrip(b" ")[:1] not in (b"#", b")", b"]", b"}"):
            return index
    return len(text)


def _code(line: bytes) -> bytes:
    return line.partition(b"#")[0].rstrip()


def _lines_in_strings(source: bytes) -> set[int] | None:
    """The indexes of lines that begin inside a string over several lines; None where one does not end."""
    if b'"""' not in source and b"'''" not in source:
        return set()
    found: set[int] = set()
    position = counted = line = 0
    while (token := _TOKEN.search(source, position)) is not None:
        position = token.end()
        mark = token.group()
        if mark in (b'"""', b"'''"):
            end = _end_of_string(source, mark, position)
            if end is None:
                return None
            line += source.count(b"\n", counted, position)
            inside = source.count(b"\n", position, end)
            found.update(range(line + 1, line + inside + 1))
            line += inside
            position = counted = end
    return found


def _end_of_string(source: bytes, mark: bytes, start: int) -> int | None:
    while (end := source.find(mark, start)) >= 0:
        before = source[start - 3 : end]
        backslashes = len(before) - len(before.rstrip(b"\\"))
        if backslashes % 2 == 0:
            return end + len(mark)
        start = end + 1
    return None
