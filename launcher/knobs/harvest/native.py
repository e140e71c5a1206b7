"""Reads C++ and CUDA sources for ``getenv``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from launcher.knobs.facts import DynamicRead, Place, Read, Reader

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_GETENV = re.compile(r"\b(?:secure_)?getenv\s*\(\s*(?:\"([^\"\n]+)\"|([^()]*(?:\([^()]*\)[^()]*)*))\s*\)")
# What a helper looks like: `auto flag = [](char const *name) {` or `int env_int(const char* name, int fallback) {`.
_HELPER = re.compile(
    r"\b(\w+)\s*(?:=\s*\[[^\]]*\]\s*)?\(([^(){};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?(?:->\s*[\w:<>]+\s*)?\{"
)
_READER = Reader("getenv", "unknown")


def scan_native(source: bytes, file: str) -> tuple[list[tuple[str, Read]], list[DynamicRead]]:
    """The variables that a C++ or CUDA file reads, and the reads whose name its text does not decide."""
    if b"getenv" not in source:
        return [], []
    text = _without_comments(source.decode("utf-8", errors="replace"))
    reads: list[tuple[str, Read]] = []
    dynamic: list[DynamicRead] = []
    for match in _GETENV.finditer(text):
        name, expression = match.groups()
        place = Place(file, text.count("\n", 0, match.start()) + 1)
        if name is not None:
            reads.append((name, Read(place, "getenv", _READER)))
            continue
        found = list(_through_helper(text, match.start(), expression.strip(), file))
        reads += found
        if not found:
            dynamic.append(DynamicRead(place, f"getenv({expression.strip()})"))
    return list(dict.fromkeys(reads)), dynamic


def _without_comments(text: str) -> str:
    """The text with its comments blanked, lines and columns kept."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] in "\"'" else re.sub(r"[^\n]", " ", found)

    return _COMMENT.sub(blank, text)


def _through_helper(text: str, at: int, parameter: str, file: str) -> Iterator[tuple[str, Read]]:
    """The names with which the function around a ``getenv(parameter)`` is called."""
    around = None
    for match in _HELPER.finditer(text, 0, at):
        if re.search(rf"\b{re.escape(parameter)}\s*$", match.group(2).split(",")[0]):
            around = match
    if around is None or not parameter.isidentifier():
        return
    for call in re.finditer(rf"\b{around.group(1)}\s*\(\s*\"([^\"\n]+)\"", text):
        place = Place(file, text.count("\n", 0, call.start()) + 1)
        yield call.group(1), Read(place, "getenv", _READER)
