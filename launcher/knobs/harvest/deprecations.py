"""The variables that the registry retires: forwarded to another name, or only warned about.

SGLang has written this down in three ways, all of which are read here: a table of ``_DeprecatedEnv`` (0.5.23),
functions that test ``old in os.environ`` and copy it to ``os.environ[new]`` (0.5.6, 0.5.12), and loops over such pairs.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from launcher.knobs.facts import Place
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.source import Module, SourceTree
from launcher.knobs.harvest.values import Function, Scope, UnknowableError


@dataclass(frozen=True, slots=True)
class Deprecation:
    """What the engine does with a retired name."""

    place: Place
    replacement: str | None = None
    note: str = ""
    transform: str | None = None
    """How the value is changed on its way to the new name, as written."""


def deprecations(tree: SourceTree, module: Module) -> dict[str, Deprecation]:
    """Every retired name of the registry."""
    walk = _Walk(Interpreter(tree), module)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Dict):
            walk.table(node)
    for statement in module.tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            walk.follow([statement], Scope(module), statement)
    return walk.found


def legacy_prefixes(module: Module) -> dict[str, str]:
    """Prefixes that the registry rewrites for every variable that has them: ``{"SGL_": "SGLANG_"}``."""
    found: dict[str, str] = {}
    for loop in ast.walk(module.tree):
        if isinstance(loop, ast.For) and "os.environ" in source_of(loop.iter):
            tested = {
                source_of(call.args[0])
                for call in ast.walk(loop)
                if isinstance(call, ast.Call) and _method(call) == "startswith" and call.args
            }
            for call in ast.walk(loop):
                if isinstance(call, ast.Call) and _method(call) == "replace" and len(call.args) >= 2:
                    old, new = call.args[0], call.args[1]
                    if source_of(old) in tested and isinstance(old, ast.Constant) and isinstance(new, ast.Constant):
                        found[str(old.value)] = str(new.value)
    return found


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


class _Walk:
    def __init__(self, interpreter: Interpreter, module: Module) -> None:
        self.found: dict[str, Deprecation] = {}
        self._interpreter = interpreter
        self._module = module
        self._parameters = {node.name: _parameters(node) for node in module.tree.body if isinstance(node, ast.ClassDef)}

    def table(self, node: ast.Dict) -> None:
        """A dictionary from old names to ``_DeprecatedEnv(…)``."""
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(value, ast.Call) or "deprecated" not in source_of(value.func).lower():
                continue
            old = self._value(key, Scope(self._module)) if key is not None else None
            if not isinstance(old, str):
                continue
            names = self._parameters.get(source_of(value.func), [])
            given = dict(zip(names, value.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in value.keywords if keyword.arg}
            known = {name: self._value(each, Scope(self._module)) for name, each in given.items()}
            new, note = known.get("replacement"), known.get("note")
            transform = given.get("transform")
            self.found[old] = Deprecation(
                self._module.place(key or node),
                new if isinstance(new, str) else None,
                note if isinstance(note, str) else "",
                None if transform is None else source_of(transform),
            )

    def follow(self, body: list[ast.stmt], scope: Scope, caller: ast.stmt, depth: int = 0) -> None:
        """Statements that the registry runs at import, as far as they concern ``old in os.environ``."""
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Call() as call):
                    self._call(call, scope, statement if depth < 2 else caller, depth)
                case ast.Assign():
                    self._interpreter.run([statement], scope)
                case ast.For(target=target, iter=iterable, body=inner):
                    self._loop(target, iterable, inner, scope, depth)
                case ast.If(test=ast.Compare(left=left, ops=[ast.In()], comparators=[where]), body=inner):
                    old = self._value(left, scope)
                    if source_of(where) == "os.environ" and isinstance(old, str):
                        self._retired(old, inner, scope, caller if depth else statement)

    def _call(self, call: ast.Call, scope: Scope, statement: ast.stmt, depth: int) -> None:
        function = self._value(call.func, scope)
        if not isinstance(function, Function) or not isinstance(function.node, ast.FunctionDef) or depth > 4:
            return
        arguments = [self._value(argument, scope) for argument in call.args]
        keywords = {each.arg: self._value(each.value, scope) for each in call.keywords if each.arg}
        inner = Scope(function.scope.module, self._interpreter.bound(function, arguments, keywords), function.scope)
        self.follow(function.node.body, inner, statement, depth + 1)

    def _loop(self, target: ast.expr, iterable: ast.expr, body: list[ast.stmt], scope: Scope, depth: int) -> None:
        try:
            items = self._interpreter.iterate(self._interpreter.value(iterable, scope), iterable)
        except UnknowableError:
            return
        for item in items:
            inner = Scope(scope.module, {}, scope)
            self._interpreter.bind(target, item, inner)
            self.follow(body, inner, body[0], depth + 1)

    def _retired(self, old: str, body: list[ast.stmt], scope: Scope, statement: ast.stmt) -> None:
        replacement = transform = None
        note = ""
        for node in (inner for step in self._taken(body, scope) for inner in ast.walk(step)):
            match node:
                case ast.Assign(targets=[ast.Subscript(value=target, slice=key)], value=value):
                    new = self._value(key, scope)
                    if source_of(target) == "os.environ" and isinstance(new, str):
                        replacement = new
                        transform = None if isinstance(value, ast.Subscript) else source_of(value)
                case ast.Call(args=[first, *_]) if source_of(node.func) == "warnings.warn":
                    text = self._value(first, scope)
                    note = note or (text if isinstance(text, str) else "")
        self.found[old] = Deprecation(self._module.place(statement), replacement, note, transform)

    def _taken(self, body: list[ast.stmt], scope: Scope) -> list[ast.stmt]:
        """`body` with each branch that the scope decides replaced by the one taken."""
        taken: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.If):
                try:
                    decided = statement.body if self._interpreter.value(statement.test, scope) else statement.orelse
                except UnknowableError:
                    decided = [statement]
                taken += decided if decided == [statement] else self._taken(decided, scope)
            else:
                taken.append(statement)
        return taken

    def _value(self, node: ast.expr, scope: Scope) -> object:
        try:
            return self._interpreter.value(node, scope)
        except UnknowableError:
            return None


def _parameters(node: ast.ClassDef) -> list[str]:
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return [argument.arg for argument in statement.args.args[1:]]
    return []
