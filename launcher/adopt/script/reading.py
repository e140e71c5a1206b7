"""What a serve script starts, read without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from launcher.adopt.programs import Program, recognise
from launcher.adopt.script.running import Runner
from launcher.adopt.script.scope import Scope, Unread
from launcher.adopt.script.words import Operator, Token, Word, tokens

_BLOCKS = {
    "if": ("fi", "a condition"),
    "case": ("esac", "a choice"),
    "for": ("done", "a loop"),
    "while": ("done", "a loop"),
    "until": ("done", "a loop"),
    "select": ("done", "a loop"),
    "{": ("}", "a group of commands"),
    "[[": ("]]", "a condition"),
}
"""Keyword to the one that ends it, and what it is."""
_ENDS = frozenset({"\n", ";", "&", "&&", "||", "|", ";;"})


@dataclass(frozen=True, slots=True)
class Command:
    """A server that the script starts."""

    line: int
    """Of its first word."""
    words: tuple[str, ...]
    program: Program
    environ: Mapping[str, str]
    """The variables that it receives."""
    cwd: str | None
    """Where a ``cd`` of the script went; None where it stays where it was called."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A script as far as it can be read."""

    commands: tuple[Command, ...]
    unread: tuple[Unread, ...]
    """By line."""
    assigned: Mapping[str, int]
    """Variable to the last line that gives it a value."""


def read(text: str, name: str, *, environ: Mapping[str, str] | None = None) -> Reading:
    """Read a bash script called `name`, started with `environ`.

    Conditions, loops, functions, sourced files and outputs of commands are named in `unread` with their line.
    Raises ScriptError where a quote or a bracket stays open.
    """
    scope = Scope(name, dict(environ or {}), set(environ or {}))
    runner = Runner(scope)
    commands = []
    for kind, statement in _statements(tokens(text, name), scope):
        ran = runner.run(statement, skipped=kind == "||")
        program = recognise(ran.words) if ran else None
        if ran and program and not program.renamed:
            commands.append(Command(ran.line, ran.words, program, ran.environ, runner.cwd))
    return Reading(tuple(commands), tuple(sorted(scope.unread, key=lambda u: u.line)), runner.assigned)


def _statements(found: tuple[Token, ...], scope: Scope) -> Iterator[tuple[str, list[Token]]]:
    """Each simple command with the operator before it; blocks are noted and stepped over."""
    statement: list[Token] = []
    before = "\n"
    at = 0
    while at < len(found):
        token = found[at]
        first = not any(isinstance(t, Word) for t in statement)
        if isinstance(token, Word) and first and token.bare in _BLOCKS:
            at = _block(found, at, scope)
            continue
        if isinstance(token, Operator) and token.text == "(":
            at = _bracket(found, at, statement, scope)
            continue
        if isinstance(token, Operator) and token.text in _ENDS:
            if statement and before != "|":
                yield before, statement
            # What a pipe feeds runs beside the command; what comes after a newline is the next one.
            if statement or token.text != "\n" or before not in ("|", "&&", "||"):
                before = token.text
            statement = []
        else:
            statement.append(token)
        at += 1
    if statement and before != "|":
        yield before, statement


def _block(found: tuple[Token, ...], at: int, scope: Scope | None) -> int:
    """Note a compound command, where there is a scope to note it in, and return where it is over."""
    start = found[at]
    assert isinstance(start, Word)  # noqa: S101  the caller has looked
    opening = start.bare or ""
    closing, why = _BLOCKS[opening]
    depth = 0
    starts = {word for word, (end, _) in _BLOCKS.items() if end == closing}
    first = True
    while at < len(found):
        token = found[at]
        if isinstance(token, Word):
            if token.bare in starts and first:
                depth += 1
            elif token.bare == closing and (first or closing == "]]"):
                depth -= 1
                if not depth:
                    at += 1
                    break
            first = token.bare in ("do", "then", "else", "elif", "{", "!")
        else:
            first = True
        at += 1
    if scope is not None:
        scope.miss(start.line, _shown(found, start), why)
    return at


def _bracket(found: tuple[Token, ...], at: int, statement: list[Token], scope: Scope) -> int:
    """A subshell, a function or an array's content: the last is kept as the tokens of its assignment."""
    end, depth = at, 0
    while end < len(found):
        token = found[end]
        if isinstance(token, Operator) and token.text in "()":
            depth += 1 if token.text == "(" else -1
            if not depth:
                break
        end += 1
    last = statement[-1] if statement else None
    if isinstance(last, Word) and last.raw.endswith("="):
        statement.extend(found[at : end + 1])
        return end + 1
    line = found[at].line
    if isinstance(last, Word) and end == at + 1:
        scope.miss(last.line, f"{last.raw}()", "a function")
        statement.clear()
        body = end + 1
        while (
            body < len(found) and isinstance(found[body], Operator) and found[body] == Operator("\n", found[body].line)
        ):
            body += 1
        word = found[body] if body < len(found) else None
        return _block(found, body, None) if isinstance(word, Word) and word.bare == "{" else body
    scope.miss(line, _shown(found, found[at]), "commands of a shell of their own")
    return end + 1


def _shown(found: tuple[Token, ...], start: Token) -> str:
    """The line that a block begins with."""
    same = [t for t in found if t.line == start.line]
    return " ".join(t.raw if isinstance(t, Word) else t.text for t in same[same.index(start) :]).strip()
