"""Simple commands as bash would run them: those that set variables are followed, the others only looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from launcher.adopt.script.scope import Scope
from launcher.adopt.script.words import Opaque, Operator, Reference, Text, Token, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXPORTING = {"declare": True, "typeset": True, "local": False, "readonly": False, "export": True}
_HARMLESS = frozenset({"true", ":", "exit", "return", "echo", "printf", "continue", "break"})
"""What follows ``||`` most often and sets nothing."""
WRAPPERS = {
    "exec": ("-a",),
    "command": (),
    "builtin": (),
    "nohup": (),
    "setsid": (),
    "time": (),
    "stdbuf": ("-i", "-o", "-e"),
    "nice": ("-n", "--adjustment"),
    "ionice": ("-c", "-n", "--class", "--classdata"),
    "numactl": ("-N", "-m", "-C", "-i", "-p", "-w"),
}
"""Commands that run the rest of their words in their place, and which of their options take the next word."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command with what it receives."""

    line: int
    words: tuple[str, ...]
    environ: Mapping[str, str]


class Runner:
    """Follows a script's simple commands in order."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.cwd: str | None = None
        self.assigned: dict[str, int] = {}

    def run(self, statement: list[Token], *, skipped: bool) -> Ran | None:
        """The program that `statement` starts; None for what only changes the shell, and for nothing at all.

        `skipped` says that it runs only where the command before it failed.
        """
        tokens = _without_redirections(statement)
        words = [t for t in tokens if isinstance(t, Word)]
        if not words:
            return None
        if skipped:
            if words[0].raw not in _HARMLESS:
                raw = " ".join(word.raw for word in words)
                self.scope.miss(words[0].line, raw, "runs only where the command before it fails")
            return None
        before = dict(self.scope.values)
        prefix = self._assignments(tokens)
        self.scope.values = before  # each sees those in front of it, the command's own words do not
        if not prefix.rest:
            for name, value, line in prefix.found:
                self._set(name, value, line)
            return None
        expanded = [text for word in prefix.rest for text in self.scope.words(word)]
        line = prefix.rest[0].line
        if not expanded or self._builtin(expanded, prefix.rest, line):
            return None
        environ = dict(self.scope.environment()) | {name: value for name, value, _ in prefix.found if value is not None}
        self.assigned |= {name: at for name, _, at in prefix.found}
        return self._unwrapped(expanded, environ, line)

    def _assignments(self, tokens: list[Token]) -> _Prefix:
        """The assignments in front of a command, arrays included, which are carried out as they are met."""
        found: list[tuple[str, str | None, int]] = []
        at = 0
        while at < len(tokens):
            word = tokens[at]
            match = _assigned(word)
            if match is None or not isinstance(word, Word):
                break
            name, add = match[1], bool(match[2])
            if at + 1 < len(tokens) and tokens[at + 1] == Operator("(", tokens[at + 1].line):
                at = self._array(tokens, at, name, add=add)
                found.append((name, None, word.line))
                continue
            value = (self.scope.values.get(name, "") if add else "") + self._right_side(word, match)
            found.append((name, value, word.line))
            self.scope.values[name] = value
            at += 1
        rest = [t for t in tokens[at:] if isinstance(t, Word)]
        return _Prefix(found, rest)

    def _array(self, tokens: list[Token], at: int, name: str, *, add: bool) -> int:
        end = at + 2
        entries: list[str] = []
        while end < len(tokens) and tokens[end] != Operator(")", tokens[end].line):
            token = tokens[end]
            if isinstance(token, Word):
                entries += self.scope.words(token)
            end += 1
        before = self.scope.arrays.get(name, []) if add else []
        self.scope.arrays[name] = before + entries
        self.scope.values.pop(name, None)
        return end + 1

    def _right_side(self, word: Word, match: re.Match[str]) -> str:
        first, *others = word.parts
        assert isinstance(first, Text)  # noqa: S101  `_assigned` has looked
        rest = Text(first.text[match.end() :], quoted=False)
        right = Word((rest, *others) if rest.text else tuple(others), word.line, word.raw[match.end() :])
        name = match[1]
        doubtful = any(
            isinstance(p, Opaque) or (isinstance(p, Reference) and p.body in self.scope.doubtful) for p in right.parts
        )
        (self.scope.doubtful.add if doubtful else self.scope.doubtful.discard)(name)
        return self.scope.one(right)

    def _set(self, name: str, value: str | None, line: int) -> None:
        self.assigned[name] = line
        if value is not None:
            self.scope.assign(name, value)

    def _builtin(self, words: list[str], raw: list[Word], line: int) -> bool:
        """Carry out what changes the shell itself; whether it was that."""
        head, *rest = words
        match head:
            case "export" | "declare" | "typeset" | "local" | "readonly":
                self._declare(head, raw[1:])
            case "unset":
                for name in rest:
                    self.scope.values.pop(name, None)
                    self.scope.arrays.pop(name, None)
                    self.scope.exported.discard(name)
            case "set":
                for flag in rest:
                    if re.fullmatch(r"[-+]\w+", flag) and "a" in flag:
                        self.scope.every = flag.startswith("-")
            case "cd" | "pushd":
                self.cwd = os.path.join(self.cwd or "", rest[-1]) if rest else self.scope.values.get("HOME")  # noqa: PTH118  text
            case "source" | ".":
                self.scope.miss(line, " ".join(words), "another file, which may set variables")
            case "eval":
                self.scope.miss(line, " ".join(words), "a command that is made while it runs")
            case _:
                return False
        return True

    def _declare(self, head: str, raw: list[Word]) -> None:
        options = [w.raw for w in raw if w.raw.startswith("-")]
        exports = head == "export" or (_EXPORTING[head] and any("x" in o for o in options))
        withdrawn = head == "export" and "-n" in options
        for word in raw:
            if word.raw.startswith("-"):
                continue
            match = _assigned(word)
            name = match[1] if match else self.scope.one(word)
            if match:
                added = self.scope.values.get(name, "") if match[2] else ""
                self._set(name, added + self._right_side(word, match), word.line)
            if exports and _NAME.fullmatch(name):
                (self.scope.exported.discard if withdrawn else self.scope.exported.add)(name)

    def _unwrapped(self, words: list[str], environ: dict[str, str], line: int) -> Ran | None:
        """The program behind ``env``, ``exec``, ``nohup`` and the like."""
        while words:
            head = words[0].rpartition("/")[2]
            if head == "env":
                words = self._env(words[1:], environ)
            elif head in WRAPPERS:
                words = _behind(words, WRAPPERS[head])
            elif head in ("sudo", "su", "runuser", "timeout", "docker", "podman", "ssh"):
                self.scope.miss(line, " ".join(words), f"{head} decides what the program receives")
                return None
            else:
                return Ran(line, tuple(words), environ)
        return None

    def _env(self, words: list[str], environ: dict[str, str]) -> list[str]:
        while words:
            word = words[0]
            if word in ("-i", "-", "--ignore-environment"):
                environ.clear()
            elif word in ("-u", "--unset", "-C", "--chdir") and len(words) > 1:
                if word in ("-u", "--unset"):
                    environ.pop(words[1], None)
                else:
                    self.cwd = words[1]
                words = words[1:]
            elif word.startswith("--unset="):
                environ.pop(word.partition("=")[2], None)
            elif "=" in word and not word.startswith("-"):
                name, _, value = word.partition("=")
                environ[name] = value
            elif not word.startswith("-"):
                break
            words = words[1:]
        return words


@dataclass(frozen=True, slots=True)
class _Prefix:
    found: list[tuple[str, str | None, int]]
    rest: list[Word]


def _assigned(word: Token) -> re.Match[str] | None:
    first = word.parts[0] if isinstance(word, Word) and word.parts else None
    return _ASSIGNMENT.match(first.text) if isinstance(first, Text) and not first.quoted else None


def _behind(words: list[str], with_value: tuple[str, ...]) -> list[str]:
    """The words behind a wrapper and its options."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            at += 1
            break
        at += 2 if words[at] in with_value else 1
    return words[at:]


def _without_redirections(statement: list[Token]) -> list[Token]:
    """The command's own tokens: a redirection takes the word behind it, unless it is ``2>&1`` written in one."""
    kept: list[Token] = []
    skip = False
    for token in statement:
        if isinstance(token, Operator) and ("<" in token.text or ">" in token.text):
            skip = True
        elif skip and isinstance(token, Word):
            skip = False
        else:
            kept.append(token)
    return kept
