"""Recognises the ways in which Python code reaches the process environment and the engine's registry."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from launcher.knobs.harvest.frames import Frame
from launcher.knobs.harvest.source import Module, SourceTree

_MENTIONS = re.compile(rb"environ|getenv|putenv|unsetenv|\benvs\b")
_FUNCTIONS = frozenset({"getenv", "getenvb", "putenv", "unsetenv"})


ENVIRONMENT_WORDS = frozenset({"environ", "environb", "envs", *_FUNCTIONS})
"""The words that every way to the environment or the registry contains, other names for them aside."""


@dataclass(slots=True)
class Spellings:
    """The names under which one file knows the environment and the registry; filled while the file is walked."""

    module: Module
    tree: SourceTree
    environ: set[str] = field(default_factory=lambda: {"environ", "environb"})
    """A parameter called environ counts too, as in the standard library's own signatures."""
    functions: dict[str, str] = field(default_factory=lambda: {name: name.removesuffix("b") for name in _FUNCTIONS})
    """Local name to ``getenv``, ``putenv``, ``unsetenv``."""
    registry: set[str] = field(default_factory=lambda: {"envs"})
    aliases: dict[ast.AST | None, set[str]] = field(default_factory=dict)
    """Other names for the environment, by the function that has them; None for the module and for attributes."""

    def words(self) -> set[str]:
        """Every name that can stand for the environment or the registry somewhere in the file."""
        made = {name for names in self.aliases.values() for name in names}
        return {*self.environ, *self.functions, *self.registry, *made}

    def is_environ(self, node: ast.AST, frame: Frame) -> bool:
        """Whether `node` is ``os.environ`` or another name for it."""
        match node:
            case ast.Attribute(attr="environ" | "environb"):
                return True
            case ast.Attribute(attr=attr, value=ast.Name(id="self" | "cls")):
                return attr in self.aliases.get(None, ())
            case ast.Name(id=name):
                return name in self.environ or any(
                    name in self.aliases.get(function, ()) for function in (*frame.functions(), None)
                )
        return False

    def function(self, node: ast.expr) -> str | None:
        """``getenv``, ``putenv`` or ``unsetenv`` where `node` is that function of ``os``."""
        match node:
            case ast.Attribute(attr=attr, value=ast.Name(id=owner)) if attr in _FUNCTIONS:
                return None if owner in ("self", "cls") else attr.removesuffix("b")
            case ast.Name(id=name):
                return self.functions.get(name)
        return None

    def is_registry(self, node: ast.AST) -> bool:
        """Whether `node` is the engine's registry object."""
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name in self.registry
        return False

    def note(self, statement: ast.AST, frame: Frame) -> None:
        """Takes in what a statement makes another name: an import, ``env = os.environ``, ``def f(env=os.environ)``."""
        match statement:
            case ast.ImportFrom():
                self._import_from(statement)
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.endswith(".envs") and self.tree.has(alias.name):
                        self.registry.discard(alias.asname or "envs")
            case ast.Assign(targets=targets, value=value):
                self._alias(targets, value, frame)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._alias([target], value, frame)
            case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
                for argument, default in with_defaults(arguments):
                    if self._stands_for_environ(default, frame):
                        self.aliases.setdefault(statement, set()).add(argument)

    def _import_from(self, statement: ast.ImportFrom) -> None:
        for alias in statement.names:
            local = alias.asname or alias.name
            if alias.name in _FUNCTIONS:
                self.functions[local] = alias.name.removesuffix("b")
            elif alias.name in ("environ", "environb") and statement.module == "os":
                self.environ.add(local)
            elif alias.name == "envs":
                # A module called envs is no registry: multimodal_gen has one, whose variables are read in it by name.
                is_module = self.tree.has(f"{self.module.absolute(statement)}.envs")
                (self.registry.discard if is_module else self.registry.add)(local)

    def _alias(self, targets: Iterable[ast.expr], value: ast.expr, frame: Frame) -> None:
        if not self._stands_for_environ(value, frame):
            return
        for target in targets:
            if isinstance(target, ast.Name):
                self.aliases.setdefault(next(frame.functions(), None), set()).add(target.id)
            elif isinstance(target, ast.Attribute):
                self.aliases.setdefault(None, set()).add(target.attr)

    def _stands_for_environ(self, node: ast.expr, frame: Frame) -> bool:
        match node:
            case ast.BoolOp(values=values):
                return any(self._stands_for_environ(value, frame) for value in values)
            case ast.IfExp(body=body, orelse=orelse):
                return self._stands_for_environ(body, frame) or self._stands_for_environ(orelse, frame)
        return self.is_environ(node, frame)


def with_defaults(arguments: ast.arguments) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, with it."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return [(argument.arg, default) for argument, default in pairs if default is not None]


def may_use(source: bytes) -> bool:
    """Whether a file can reach the environment or the registry at all: every way there contains one of few words."""
    return b"env" in source and _MENTIONS.search(source) is not None


def lines_with(source: bytes, words: Iterable[str]) -> set[int]:
    """The lines, counted as Python counts them, that contain one of `words` as a word."""
    if b"\r" in source:
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    expression, needles = _search(frozenset(words))
    found: set[int] = set()
    for needle in needles:
        position, counted, line = source.find(needle), 0, 1
        while position >= 0:
            end = source.find(b"\n", position)
            end = len(source) if end < 0 else end
            start = source.rfind(b"\n", 0, position) + 1
            if expression.search(source, start, end):
                line += source.count(b"\n", counted, start)
                counted = start
                found.add(line)
            position = source.find(needle, end)
    return found


@functools.lru_cache(maxsize=64)
def _search(words: frozenset[str]) -> tuple[re.Pattern[bytes], tuple[bytes, ...]]:
    """The expression for any of `words`, and texts one of which is in each: nearly every word contains "env"."""
    chosen = sorted(word.encode() for word in words)
    expression = re.compile(rb"\b(?:" + b"|".join(map(re.escape, chosen)) + rb")\b")
    return expression, (b"env", *(word for word in chosen if b"env" not in word))
