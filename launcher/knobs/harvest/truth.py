"""Which spellings of a variable the engine's own code takes for true and for false."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from launcher.knobs.facts import Reader
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.source import Module

_KINDS = {"bool": "bool", "int": "int", "float": "float", "str": "str"}
_BY_NAME = (("bool", "bool"), ("int", "int"), ("float", "float"), ("tuple", "tuple"), ("json", "json"), ("str", "str"))


def function_reader(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module | None = None) -> Reader:
    """How a function of `module` that takes a variable's name or text turns it into a value."""
    true: set[str] = set()
    false: set[str] = set()
    for words, outcome in _tables(node, module):
        (true if outcome else false).update(words)
    kind = _returned_kind(node) or ("bool" if true or false else _named_kind(name))
    if kind != "bool":
        return Reader(name, kind, otherwise=_otherwise(node, kind))
    return Reader(
        name, "bool", _ordered(true), _ordered(false), ignores_case=_lowers(node), otherwise=_otherwise(node, kind)
    )


def _ordered(words: set[str]) -> tuple[str, ...]:
    """The digit first: ``1`` is what every reader of a kind takes, so it is what a profile's true becomes."""
    return tuple(sorted(words, key=lambda word: (not word.isdigit(), word)))


def _tables(node: ast.AST, module: Module | None) -> Iterator[tuple[frozenset[str], bool]]:
    """Each list of words in the function together with the truth that it stands for."""
    used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    constants = {} if module is None else {name: _constant(module, name) for name in used}
    names = {name: value for name, value in constants.items() if value is not None} | {
        target.id: statement.value
        for statement in ast.walk(node)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for inner in ast.walk(node):
        if isinstance(inner, ast.If) and len(inner.body) == 1 and isinstance(inner.body[0], ast.Return):
            returned = inner.body[0].value
            words = compared(inner.test, names)
            if words is not None and isinstance(returned, ast.Constant) and isinstance(returned.value, bool):
                yield words[0], returned.value if words[1] else not returned.value
        elif isinstance(inner, ast.Return) and inner.value is not None:
            words = compared(inner.value, names)
            if words is not None:
                yield words


def _constant(module: Module, name: str) -> ast.expr | None:
    statements = module.about(name)
    return statements[0].value if len(statements) == 1 and isinstance(statements[0], ast.Assign) else None


def compared(test: ast.expr, names: Mapping[str, ast.expr]) -> tuple[frozenset[str], bool] | None:
    """The words that `test` compares with, and whether meeting them makes it true; None for any other test."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    operation, right = test.ops[0], test.comparators[0]
    if isinstance(right, ast.Name) and right.id in names:
        right = names[right.id]
    if isinstance(operation, ast.In | ast.NotIn) and isinstance(right, ast.List | ast.Tuple | ast.Set):
        words = [item.value for item in right.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        return (frozenset(words), isinstance(operation, ast.In)) if len(words) == len(right.elts) else None
    if isinstance(operation, ast.Eq | ast.NotEq) and isinstance(right, ast.Constant) and isinstance(right.value, str):
        return frozenset({right.value}), isinstance(operation, ast.Eq)
    return None


def _lowers(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Attribute) and inner.attr in ("lower", "casefold") for inner in ast.walk(node))


def _returned_kind(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    if node.returns is None:
        return None
    text = source_of(node.returns).removeprefix("Optional[").split("[")[0].split(" |")[0].rstrip("]").lower()
    return "tuple" if text == "tuple" else _KINDS.get(text)


def _named_kind(name: str) -> str:
    lowered = name.lower()
    return next((kind for part, kind in _BY_NAME if part in lowered), "unknown")


def _otherwise(node: ast.FunctionDef | ast.AsyncFunctionDef, kind: str) -> str | None:
    """What the function does with a text that it does not understand."""
    last = node.body[-1]
    handlers = [inner for inner in ast.walk(node) if isinstance(inner, ast.ExceptHandler)]
    if isinstance(last, ast.Raise) or any(isinstance(step, ast.Raise) for each in handlers for step in each.body):
        return "error"
    if handlers:
        return "default"
    if kind == "bool" and isinstance(last, ast.Return) and isinstance(last.value, ast.Compare):
        return "false" if isinstance(last.value.ops[0], ast.In | ast.Eq) else "true"
    return "error" if kind in ("int", "float", "json") else None
