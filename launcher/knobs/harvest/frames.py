"""Where an expression stands: the functions, classes, loops and conditions around it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from launcher.knobs.harvest.expressions import source_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LONGEST = 200
_PLATFORM = re.compile(r"_?(?:is_|use_|on_)?(hip|rocm|npu|xpu|musa|hpu|mps|mlx|cuda|cpu|aiter|sm\d+)(?:_available)?$")
_SAME = {"rocm": "hip", "aiter": "hip", "amd": "hip", "ascend": "npu"}
_FOLDERS = frozenset({"hip", "rocm", "amd", "aiter", "npu", "ascend", "xpu", "musa", "hpu", "mps", "mlx"})


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """One thing around an expression: a function, a class, a ``for``, a comprehension, or a branch of a condition."""

    node: ast.AST
    parent: Frame | None
    branch: bool | None = None
    """For a condition: whether the expression stands where it is true; None for any other frame."""

    def around(self) -> Iterator[Frame]:
        """This frame and those around it, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def functions(self) -> Iterator[FunctionNode]:
        """The functions and lambdas around, innermost first."""
        for frame in self.around():
            if isinstance(frame.node, FunctionNode):
                yield frame.node

    def owner(self) -> ast.ClassDef | None:
        """The innermost class around."""
        return next((frame.node for frame in self.around() if isinstance(frame.node, ast.ClassDef)), None)

    def conditions(self) -> Iterator[tuple[ast.expr, bool]]:
        """The conditions up to the innermost function, innermost first, each with the branch taken."""
        for frame in self.around():
            if isinstance(frame.node, FunctionNode):
                return
            if frame.branch is not None and isinstance(frame.node, ast.expr):
                yield frame.node, frame.branch


def condition_text(frame: Frame) -> str | None:
    """The innermost condition around, as written, on one line."""
    innermost = next(frame.conditions(), None)
    if innermost is None:
        return None
    test, branch = innermost
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, branch = test.operand, not branch
    text = source_of(test) if branch else f"not ({source_of(test)})"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def conjuncts(test: ast.expr, branch: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What surely holds where `test` came out as `branch`: the parts of an ``and``, or of a false ``or``."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from conjuncts(operand, not branch)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is branch:
            for value in values:
                yield from conjuncts(value, branch)
        case _:
            yield test, branch


def platforms(file: str, frame: Frame) -> tuple[str, ...]:
    """The platforms for which the place was written, by folder and by the conditions around it; empty means any."""
    found = {_SAME.get(part, part) for part in file.split("/")[:-1] if part in _FOLDERS}
    for each in frame.around():
        if each.branch is not None and isinstance(each.node, ast.expr):
            for test, holds in conjuncts(each.node, each.branch):
                named = _PLATFORM.match(_last_name(test)) if holds else None
                if named:
                    found.add(_SAME.get(named.group(1), named.group(1)))
    return tuple(sorted(found))


def _last_name(test: ast.expr) -> str:
    if isinstance(test, ast.Call):
        return _last_name(test.func)
    return test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""


def parameters(function: FunctionNode) -> list[str]:
    """The names of a function's parameters that take one value each, in order."""
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
