"""What the engine does when it sets a variable of its own process: overwrite, fill in, or remove."""

from __future__ import annotations

import ast
from collections.abc import Callable

from launcher.knobs.harvest.frames import Frame, conjuncts


def keeps_what_is_set(frame: Frame, name: str, is_name: Callable[[ast.expr, Frame, str], bool]) -> bool:
    """Whether the conditions around a write let it happen only where `name` is not set yet.

    `is_name` says whether an expression is the variable's name, or reads it.
    """
    return any(
        _says_unset(part, holds, frame, name, is_name)
        for test, branch in frame.conditions()
        for part, holds in conjuncts(test, branch)
    )


def _says_unset(
    test: ast.expr, holds: bool, frame: Frame, name: str, is_name: Callable[[ast.expr, Frame, str], bool]
) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operation], comparators=[_]):
            return isinstance(operation, ast.NotIn) is holds and is_name(left, frame, name)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as operation], comparators=[ast.Constant(value=None)]):
            return isinstance(operation, ast.Is) is holds and is_name(left, frame, name)
        case ast.Call() | ast.Name():
            return not holds and is_name(test, frame, name)
    return False
