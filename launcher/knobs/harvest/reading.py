"""What the code around a read makes of a variable's text: a truth, a number, words."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from launcher.knobs.facts import Reader
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.truth import compared

_TRIMS = frozenset({"lower", "strip", "upper", "casefold", "rstrip", "lstrip"})
_CASELESS = frozenset({"lower", "upper", "casefold"})
_CONVERSIONS: Mapping[str, str] = {"int": "int", "float": "float", "str": "str", "Path": "str", "loads": "json"}
_WORDS = frozenset({"split", "rsplit", "splitlines"})


def reader_at(node: ast.expr, parents: Sequence[ast.AST], via: str) -> Reader:
    """How the text read by `node` is used; `parents` are the nodes around it in its statement, innermost first."""
    caseless = False
    child: ast.AST = node
    for parent in parents:
        match parent:
            case ast.Attribute(attr=attr) if attr in _TRIMS:
                caseless = caseless or attr in _CASELESS
            case ast.Call(func=func) if func is child:
                pass
            case ast.BoolOp(op=ast.Or()) if parent.values[-1] is not child:
                pass  # `read or default`: the text is used further out
            case _:
                return _used(via, parent, child, parents, caseless)
        child = parent
    return Reader(via, "unknown")


def _used(via: str, parent: ast.AST, child: ast.AST, parents: Sequence[ast.AST], caseless: bool) -> Reader:
    match parent:
        case ast.Attribute(attr=attr) if attr in _WORDS:
            return Reader(via, "tuple")
        case ast.Call(func=func):
            return _converted(via, func, parents)
        case ast.Compare():
            return _compared(via, parent, child, caseless)
        case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
            return _truthy(via)
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert() if parent.test is child:
            return _truthy(via)
    return Reader(via, "unknown")


def _truthy(via: str) -> Reader:
    """The text itself as a condition: anything but nothing is true, ``0`` and ``false`` too."""
    return Reader(via, "bool", ("1",), ("",), otherwise="true")


def _converted(via: str, function: ast.expr, parents: Sequence[ast.AST]) -> Reader:
    name = source_of(function).rpartition(".")[2]
    if name == "bool":
        return _truthy(via)
    kind = _CONVERSIONS.get(name, "unknown")
    if kind == "int" and any(isinstance(parent, ast.Call) and source_of(parent.func) == "bool" for parent in parents):
        return Reader(via, "bool", ("1",), ("0",), otherwise="error")
    return Reader(via, kind, otherwise="error" if kind in ("int", "float", "json") else None)


def _compared(via: str, node: ast.Compare, child: ast.AST, caseless: bool) -> Reader:
    words = compared(node, {})
    if words is None or node.left is not child:
        return Reader(via, "presence" if _is_none_test(node) else "unknown")
    ordered = tuple(sorted(words[0], key=lambda word: (not word.isdigit(), word)))
    plain_truths = all(word.lower() in _TRUTHS for word in ordered)
    if not plain_truths:
        return Reader(via, "str", ignores_case=caseless)
    if words[1]:
        return Reader(via, "bool", ordered, (), caseless, "false")
    return Reader(via, "bool", (), ordered, caseless, "true")


_TRUTHS = frozenset({"", "0", "1", "true", "false", "yes", "no", "y", "n", "on", "off", "t", "f", "enabled", "none"})


def _is_none_test(node: ast.Compare) -> bool:
    return (
        isinstance(node.ops[0], ast.Is | ast.IsNot)
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value is None
    )


def later_use(name: str, function: ast.AST, via: str) -> Reader:
    """How `function` uses a text after putting it into its local `name`: the first use that says something."""
    for node, parents in _uses(function, name, ()):
        found = reader_at(node, parents, via)
        if found.kind not in ("unknown", "presence"):
            return found
    return Reader(via, "unknown")


def _uses(node: ast.AST, name: str, parents: tuple[ast.AST, ...]) -> Iterator[tuple[ast.expr, tuple[ast.AST, ...]]]:
    if isinstance(node, ast.Name):
        if node.id == name and isinstance(node.ctx, ast.Load):
            yield node, parents
        return
    around = (node, *parents[:_NEAR])
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, name, around)


_NEAR = 8  # how many nodes outwards a conversion can stand
