"""The variables of a script while it is read, and what its words become."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from launcher.adopt.script.words import Opaque, Reference, Text, Word, parts

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARRAY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[[@*]\]")
_DEFAULT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:?[-=+?])(.*)", re.DOTALL)
_BRACES = re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")


@dataclass(frozen=True, slots=True)
class Unread:
    """What a reading could not tell."""

    line: int
    text: str
    """As it is written, cut where it is long."""
    why: str


class _Made:
    """Words as they come together from parts."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._current: str | None = None

    def words(self) -> list[str]:
        return self._done if self._current is None else [*self._done, self._current]

    def entries(self, entries: list[str], *, split: bool) -> None:
        """An array's entries: the first joins what is in front of it, the last what is behind."""
        for index, entry in enumerate(entries):
            if index:
                self._end()
            self.text(entry, split=split)

    def text(self, text: str, *, split: bool) -> None:
        """Letters, which end words at white space where bash would split them there."""
        if not split:
            self._current = (self._current or "") + text
            return
        pieces = text.split()
        if text[:1].isspace():
            self._end()
        for index, piece in enumerate(pieces):
            if index:
                self._end()
            self._current = (self._current or "") + piece
        if pieces and text[-1:].isspace():
            self._end()

    def _end(self) -> None:
        if self._current is not None:
            self._done.append(self._current)
            self._current = None


@dataclass(slots=True)
class Scope:
    """Variables, which of them are exported, arrays; `unread` collects what was met and not understood."""

    name: str
    """The script's, for messages."""
    values: dict[str, str] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    every: bool = False
    """Whether each assignment exports (``set -a``)."""
    unread: list[Unread] = field(default_factory=list)
    doubtful: set[str] = field(default_factory=set)
    """Variables whose value is not known."""

    def assign(self, name: str, value: str) -> None:
        """Set a variable."""
        self.values[name] = value
        self.arrays.pop(name, None)
        if self.every:
            self.exported.add(name)

    def environment(self) -> Mapping[str, str]:
        """What a program started now receives."""
        return {name: value for name, value in self.values.items() if name in self.exported}

    def miss(self, line: int, text: str, why: str) -> None:
        """Note what cannot be told without running the script."""
        short = " ".join(text.split())
        note = Unread(line, short if len(short) <= 90 else f"{short[:89]}…", why)
        if note not in self.unread:
            self.unread.append(note)

    def one(self, word: Word) -> str:
        """A word that is not split, such as an assignment's value."""
        return "".join(self._part(word, part)[0] for part in self._tilde(word))

    def words(self, word: Word) -> list[str]:
        """The words that one becomes: none for an unquoted variable that is empty, several for an array."""
        made = _Made()
        for part in self._tilde(word):
            if isinstance(part, Text) and not part.quoted and _BRACES.search(part.text):
                self.miss(word.line, word.raw, "braces that bash writes out")
            if isinstance(part, Reference) and (array := self._array(part)) is not None:
                made.entries(array, split=not part.quoted)
                continue
            text, split = self._part(word, part)
            made.text(text, split=split)
        return made.words()

    def _tilde(self, word: Word) -> tuple[Text | Reference | Opaque, ...]:
        first = word.parts[0] if word.parts else None
        if isinstance(first, Text) and not first.quoted and re.match(r"~(/|$)", first.text) and "HOME" in self.values:
            return (Text(self.values["HOME"], quoted=True), Text(first.text[1:], quoted=False), *word.parts[1:])
        return word.parts

    def _array(self, part: Reference) -> list[str] | None:
        if part.body == "@":
            return []
        match = _ARRAY.fullmatch(part.body)
        return self.arrays.get(match[1], []) if match else None

    def _part(self, word: Word, part: Text | Reference | Opaque) -> tuple[str, bool]:
        """Its letters, and whether bash would split them into words."""
        if isinstance(part, Text):
            return part.text, False
        if isinstance(part, Opaque):
            self.miss(word.line, part.text, part.why)
            return part.text, False
        return self._value(word, part), not part.quoted

    def _value(self, word: Word, part: Reference) -> str:
        if part.body in ("@", "*", "#") or part.body.isdecimal():
            self.miss(word.line, f"${part.body}", "an argument of the script")
            return ""
        if array := _ARRAY.fullmatch(part.body):
            return " ".join(self.arrays.get(array[1], []))
        if _NAME.fullmatch(part.body):
            return self._plain(word, part.body)
        if match := _DEFAULT.fullmatch(part.body):
            return self._defaulted(word, *match.groups())
        self.miss(word.line, f"${{{part.body}}}", "an expansion that is not read here")
        return f"${{{part.body}}}"

    def _plain(self, word: Word, name: str) -> str:
        if name in self.doubtful:
            self.miss(word.line, f"${name}", "a variable whose value is not known")
        if name in self.arrays:
            return self.arrays[name][0] if self.arrays[name] else ""
        if name not in self.values:
            self.miss(word.line, f"${name}", "not set in the script; taken as empty")
        return self.values.get(name, "")

    def _defaulted(self, word: Word, name: str, operator: str, rest: str) -> str:
        value = self.values.get(name)
        there = bool(value) if operator.startswith(":") else value is not None
        inner = Word(parts(rest, self.name, word.line), word.line, rest)
        match operator[-1]:
            case "+":
                return self.one(inner) if there else ""
            case "?":
                return self._plain(word, name)
        if there:
            return value or ""
        default = self.one(inner)
        if operator[-1] == "=":
            self.assign(name, default)
        return default
