"""Walks the expressions of a file in order, each with what stands around it, and passes over what cannot matter."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from launcher.knobs.harvest.frames import Frame

_NEAR = 10
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Spot(NamedTuple):
    """An expression, the nodes around it in its statement (innermost first, the statement last), and its frame."""

    node: ast.expr
    parents: tuple[ast.AST, ...]
    frame: Frame


class Walk:
    """The walk of one file. `lines` are the only ones of interest, or None for all of them."""

    def __init__(self, lines: Iterable[int] | None, on_statement: Callable[[ast.AST, Frame], None]) -> None:
        self._lines = None if lines is None else sorted(lines)
        self._on_statement = on_statement
        self._shallow = False

    def module(self, tree: ast.Module) -> Iterator[Spot]:
        """Every expression of the file that touches a line of interest."""
        yield from self._block(tree.body, Frame(tree, None))

    def statements(self, tree: ast.Module) -> None:
        """Only tells of the statements that touch a line of interest, and looks at no expression."""
        self._shallow = True
        for _ in self._block(tree.body, Frame(tree, None)):
            pass

    def _touches(self, node: ast.stmt) -> bool:
        if self._lines is None:
            return True
        first = min((node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))))
        at = bisect_left(self._lines, first)
        return at < len(self._lines) and self._lines[at] <= (node.end_lineno or node.lineno)

    def _block(self, body: list[ast.stmt], frame: Frame) -> Iterator[Spot]:
        for statement in body:
            if self._touches(statement):
                self._on_statement(statement, frame)
                yield from self._statement(statement, frame)

    def _statement(self, statement: ast.stmt, frame: Frame) -> Iterator[Spot]:
        match statement:
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                yield from self._children([*statement.decorator_list, statement.args], (statement,), frame)
                yield from self._block(body, Frame(statement, frame))
            case ast.ClassDef(body=body):
                yield from self._children(
                    [*statement.decorator_list, *statement.bases, *statement.keywords], (statement,), frame
                )
                yield from self._block(body, Frame(statement, frame))
            case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
                yield from self._children([test], (statement,), frame)
                yield from self._block(body, Frame(test, frame, True))
                yield from self._block(orelse, Frame(test, frame, False))
            case (
                ast.For(iter=iterable, body=body, orelse=orelse) | ast.AsyncFor(iter=iterable, body=body, orelse=orelse)
            ):
                yield from self._children([iterable], (statement,), frame)
                yield from self._block(body, Frame(statement, frame))
                yield from self._block(orelse, frame)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                yield from self._children(items, (statement,), frame)
                yield from self._block(body, frame)
            case ast.Try() | ast.TryStar():
                for block in (statement.body, *(each.body for each in statement.handlers), statement.orelse):
                    yield from self._block(block, frame)
                yield from self._block(statement.finalbody, frame)
            case ast.Match(subject=subject, cases=cases):
                yield from self._children([subject], (statement,), frame)
                for case in cases:
                    yield from self._block(case.body, frame)
            case _:
                yield from self._children(ast.iter_child_nodes(statement), (statement,), frame)

    def _children(self, nodes: Iterable[ast.AST], parents: tuple[ast.AST, ...], frame: Frame) -> Iterator[Spot]:
        for node in () if self._shallow else nodes:
            yield from self._expression(node, parents, frame)

    def _expression(self, node: ast.AST, parents: tuple[ast.AST, ...], frame: Frame) -> Iterator[Spot]:
        if isinstance(node, ast.expr):
            yield Spot(node, parents, frame)
        around = (node, *parents[: _NEAR - 1])
        match node:
            case ast.Lambda(args=arguments, body=body):
                yield from self._expression(arguments, around, frame)
                yield from self._expression(body, around, Frame(node, frame))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from self._expression(test, around, frame)
                yield from self._expression(body, around, Frame(test, frame, True))
                yield from self._expression(orelse, around, Frame(test, frame, False))
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    yield from self._expression(value, around, frame)
                    frame = Frame(value, frame, isinstance(op, ast.And))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                yield from self._comprehension(node, around, frame)
            case _:
                yield from self._children(ast.iter_child_nodes(node), around, frame)

    def _comprehension(self, node: _Comprehension, around: tuple[ast.AST, ...], frame: Frame) -> Iterator[Spot]:
        for generator in node.generators:
            yield from self._expression(generator.iter, (generator, *around), frame)
            frame = Frame(generator, frame)
            for test in generator.ifs:
                yield from self._expression(test, (generator, *around), frame)
                frame = Frame(test, frame, True)
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        yield from self._children(results, around, frame)
