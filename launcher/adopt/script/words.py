"""Bash text cut into words and operators, quotes and expansions kept apart; nothing is expanded yet. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from launcher.errors import InputError

OPERATORS = ("<<<", "&>>", "<<-", "<<", ">>", "&&", "||", ";;", "<&", ">&", "<>", ">|", "&>", "&", "|", ";", "(", ")")
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = "@*#?$!-0123456789"


class ScriptError(InputError):
    """The text is no script that bash would take: a quote or a bracket stays open."""


@dataclass(frozen=True, slots=True)
class Text:
    """Letters as they stand."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable: ``$name``, or what stands between the braces of ``${…}``."""

    body: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Opaque:
    """What is known only when the script runs, as it is written."""

    text: str
    why: str


Part: TypeAlias = Text | Reference | Opaque


@dataclass(frozen=True, slots=True)
class Word:
    """One word, in parts."""

    parts: tuple[Part, ...]
    line: int
    raw: str

    @property
    def bare(self) -> str | None:
        """Its letters where nothing in it is quoted or expanded: only such a word is a keyword."""
        if all(isinstance(p, Text) and not p.quoted for p in self.parts):
            return "".join(p.text for p in self.parts if isinstance(p, Text))
        return None


@dataclass(frozen=True, slots=True)
class Operator:
    """``;``, ``&&``, ``>``, a line's end."""

    text: str
    line: int


Token: TypeAlias = Word | Operator


def tokens(text: str, name: str) -> tuple[Token, ...]:
    """The words and operators of `text`; raises ScriptError, with file and line, where a quote stays open."""
    return tuple(_Reader(text, name).all())


def parts(text: str, name: str, line: int) -> tuple[Part, ...]:
    """`text` as the inside of a word, such as the default in ``${NAME:-default}``."""
    reader = _Reader(text, name, line)
    found: list[Part] = []
    while reader.at < len(text):
        reader.part(found, ends="")
    return tuple(found)


class _Reader:
    def __init__(self, text: str, name: str, line: int = 1) -> None:
        self.text, self.name, self.line, self.at = text, name, line, 0
        self._heres: list[tuple[str, bool]] = []

    def all(self) -> list[Token]:
        found: list[Token] = []
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t" or self.text.startswith("\\\n", self.at):
                self._skip(2 if letter == "\\" else 1)
            elif letter == "\n":
                found.append(Operator("\n", self.line))
                self._skip(1)
                self._skip_heres()
            elif letter == "#":
                self.at = self._find("\n", len(self.text))
            elif operator := self._operator():
                found.append(operator)
                self._skip(len(operator.text))
                if operator.text in ("<<", "<<-"):
                    found.append(self._delimiter(operator))
            else:
                found.append(self._word())
        return found

    def _operator(self) -> Operator | None:
        match = re.compile(r"\d*(?=[<>])").match(self.text, self.at)
        ahead = match.end() if match else self.at
        for text in (*OPERATORS, "<", ">"):
            if self.text.startswith(text, ahead) and (ahead == self.at or text[0] in "<>"):
                return Operator(self.text[self.at : ahead] + text, self.line)
        return None

    def _delimiter(self, operator: Operator) -> Word:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        word = self._word()
        self._heres.append((re.sub(r"[\\'\"]", "", word.raw), operator.text == "<<-"))
        return word

    def _skip_heres(self) -> None:
        for end, tabs in self._heres:
            while self.at < len(self.text):
                stop = self._find("\n", len(self.text))
                line = self.text[self.at : stop]
                self._skip(stop + 1 - self.at)
                if (line.lstrip("\t") if tabs else line) == end:
                    break
        self._heres = []

    def _word(self) -> Word:
        start, line = self.at, self.line
        found: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;&|()<>":
            self.part(found, ends=" \t\n;&|()<>")
        return Word(tuple(found), line, self.text[start : self.at])

    def part(self, found: list[Part], *, ends: str) -> None:
        """Read one part; plain letters run up to one of `ends` or to what begins another part."""
        letter = self.text[self.at]
        if letter == "'":
            end = self._close("'", self.at + 1)
            found.append(Text(self._take(end + 1)[1:-1], quoted=True))
        elif letter == '"':
            self._skip(1)
            self._double(found)
        elif letter == "\\":
            taken = self._take(min(self.at + 2, len(self.text)))
            if taken != "\\\n":
                found.append(Text(taken[1:], quoted=True))
        elif self.text.startswith("$'", self.at):
            found.append(self._ansi())
        elif self.text.startswith('$"', self.at):
            self._skip(2)
            self._double(found)
        elif letter in "$`":
            found.append(self._expansion(quoted=False))
        else:
            start = self.at
            while self.at < len(self.text) and self.text[self.at] not in "'\"\\$`" + ends:
                self._skip(1)
            found.append(Text(self.text[start : self.at], quoted=False))

    def _double(self, found: list[Part]) -> None:
        opened = self.line
        letters = ""
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in tuple('$`"\\\n'):
                taken = self._take(self.at + 2)
                letters += "" if taken == "\\\n" else taken[1]
            elif self.text[self.at] in "$`":
                found.append(Text(letters, quoted=True))
                letters = ""
                found.append(self._expansion(quoted=True))
            else:
                letters += self._take(self.at + 1)
        if self.at >= len(self.text):
            raise self._open('"', opened)
        found.append(Text(letters, quoted=True))
        self._skip(1)

    def _ansi(self) -> Text:
        at = self.at + 2
        while at < len(self.text) and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        if at >= len(self.text):
            raise self._open("$'", self.line)
        return Text(_ANSI.sub(_unescaped, self._take(at + 1)[2:-1]), quoted=True)

    def _expansion(self, *, quoted: bool) -> Part:
        if opaque := self._opaque():
            return opaque
        if self.text.startswith("${", self.at):
            end = self._matching(self.at + 1, "{", "}")
            return Reference(self._take(end)[2:-1], quoted)
        if match := _NAME.match(self.text, self.at + 1):
            return Reference(self._take(match.end())[1:], quoted)
        if self.text[self.at + 1 : self.at + 2] in tuple(_SPECIAL):
            return Reference(self._take(self.at + 2)[1:], quoted)
        return Text(self._take(self.at + 1), quoted)

    def _opaque(self) -> Opaque | None:
        if self.text[self.at] == "`":
            return Opaque(self._take(self._close("`", self.at + 1) + 1), "a command's output")
        if not self.text.startswith("$(", self.at):
            return None
        why = "a calculation" if self.text.startswith("$((", self.at) else "a command's output"
        return Opaque(self._take(self._matching(self.at + 1, "(", ")")), why)

    def _matching(self, at: int, opens: str, closes: str) -> int:
        """Just behind the bracket that closes the one at `at`; quotes between them are stepped over."""
        depth, start = 0, at
        while at < len(self.text):
            letter = self.text[at]
            if letter == "\\":
                at += 1
            elif letter == "'" and opens == "(":
                at = self._close("'", at + 1)
            elif letter == opens:
                depth += 1
            elif letter == closes:
                depth -= 1
                if not depth:
                    return at + 1
            at += 1
        raise self._open(self.text[start - 1 : start + 1], self.line)

    def _close(self, quote: str, at: int) -> int:
        end = self.text.find(quote, at)
        if end < 0:
            raise self._open(quote, self.line)
        return end

    def _find(self, what: str, otherwise: int) -> int:
        found = self.text.find(what, self.at)
        return found if found >= 0 else otherwise

    def _take(self, end: int) -> str:
        taken = self.text[self.at : end]
        self._skip(end - self.at)
        return taken

    def _skip(self, count: int) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def _open(self, what: str, line: int) -> ScriptError:
        return ScriptError(f"{self.name}:{line}: {what} is never closed", hint=f"bash -n {self.name} says the same")


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        value = int(code[1:], 16)
        return chr(value) if value < 0x110000 else "�"
    return (
        chr(int(code, 8) & 0xFF) if code[0] in "01234567" else _PLAIN.get(code, code if code in "\\'\"?" else match[0])
    )
