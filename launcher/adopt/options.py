"""A server's own flags, looked up by any spelling that its parser takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FLAG = re.compile(r"--[A-Za-z][A-Za-z0-9_-]*(=.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Option:
    """One flag with its values, as it stands on the command line."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """Without dashes and value; empty for words that belong to no flag."""
        return self.words[0].partition("=")[0].removeprefix("--") if _FLAG.fullmatch(self.words[0]) else ""

    @property
    def values(self) -> tuple[str, ...]:
        """What follows it; one value where it is joined by ``=``."""
        head, joined, value = self.words[0].partition("=")
        if not self.name:
            return self.words
        return (value, *self.words[1:]) if joined and head else self.words[1:]


def options(words: Sequence[str]) -> tuple[Option, ...]:
    """`words` cut before each ``--flag``, in order; nothing is lost."""
    found: list[list[str]] = []
    for word in words:
        if _FLAG.fullmatch(word) or not found:
            found.append([word])
        else:
            found[-1].append(word)
    return tuple(Option(tuple(group)) for group in found)


class Options:
    """Flags of one command line, the last of each name counting."""

    def __init__(self, words: Sequence[str]) -> None:
        self.all = options(words)

    def text(self, *names: str) -> str | None:
        """The last value of the flag that has one of these names, or an abbreviation of the first."""
        for option in reversed(self.all):
            if option.name in names and option.values:
                return option.values[0]
        shortened = [o for o in self.all if len(o.name) > 3 and names[0].startswith(o.name) and o.values]
        return shortened[-1].values[0] if shortened else None

    def number(self, *names: str) -> int | None:
        """The same as a whole number; None for anything else."""
        text = self.text(*names)
        return int(text) if text and text.isascii() and text.isdecimal() else None
