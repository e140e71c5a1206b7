"""Which command lines are servers: SGLang's, the router's, the simulator's. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["sglang", "simulator", "router"]

_MODULES: dict[str, Kind] = {
    "sglang.launch_server": "sglang",
    "sglang_router.launch_router": "router",
    "launcher.simulator": "simulator",
}
_FILES: dict[str, Kind] = {"launch_server.py": "sglang", "launch_router.py": "router"}
_PROGRAMS: dict[str, tuple[Kind, frozenset[str], bool]] = {
    "sglang": ("sglang", frozenset({"serve"}), True),
    "sglang-router": ("router", frozenset({"launch"}), False),
    "smg": ("router", frozenset({"launch"}), True),
}
"""Console script to its kind, the words that may follow it, and whether one of them must."""
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})
"""Python's own options that take the next word: https://docs.python.org/3/using/cmdline.html"""
_TITLES = re.compile(r"sglang::(\w+)")
"""What SGLang and its router call their processes (setproctitle)."""


@dataclass(frozen=True, slots=True)
class Program:
    """What a command line starts."""

    kind: Kind
    head: int
    """Words before the server's own flags."""
    renamed: bool = False
    """The process wrote a title over its command line: its words cannot be read from it."""


def recognise(words: Sequence[str]) -> Program | None:
    """The server that `words` start, or None for any other command."""
    if not words:
        return None
    if len(words) == 1 and (title := _TITLES.match(words[0])):
        return Program("router" if title[1] == "router" else "sglang", 1, renamed=True)
    if not _PYTHON.fullmatch(_base(words[0])):
        return _script(words, 0)
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    if at >= len(words):
        return None
    if words[at] == "-m":
        kind = _MODULES.get(words[at + 1]) if at + 1 < len(words) else None
        return Program(kind, at + 2) if kind else None
    return _script(words, at)


def _script(words: Sequence[str], at: int) -> Program | None:
    """A program file at `at`, with the word that it may need behind it."""
    name = _base(words[at])
    if at and (kind := _FILES.get(name)):
        return Program(kind, at + 1)
    if name not in _PROGRAMS:
        return None
    of, verbs, must = _PROGRAMS[name]
    verb = at + 1 < len(words) and words[at + 1] in verbs
    return Program(of, at + 1 + verb) if verb or not must else None


def _base(word: str) -> str:
    return word.rpartition("/")[2]
