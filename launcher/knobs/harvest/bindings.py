"""Every value that an expression inside functions, classes and loops can have, as far as the source decides them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator

from launcher.knobs.harvest.elide import body_of
from launcher.knobs.harvest.frames import Frame, FunctionNode, parameters
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.source import Module, bound_by_head, bound_names
from launcher.knobs.harvest.statements import MISSING
from launcher.knobs.harvest.values import Class, Scope, UnknowableError

Loop = ast.For | ast.AsyncFor | ast.comprehension

_MOST = 400  # combinations of loop variables; more than this is no list of settings
_DEEPEST = 8
_MODULE: list[object] = []
"""Marks a name that nothing around binds: the module, or Python, does."""


class Bindings:
    """Evaluates expressions of one module where they stand."""

    def __init__(self, module: Module, interpreter: Interpreter) -> None:
        self._module = module
        self._interpreter = interpreter
        self._locals: dict[FunctionNode, set[str]] = {}

    def locals_of(self, function: FunctionNode) -> set[str]:
        """The names that a function's body binds."""
        if function not in self._locals:
            self._locals[function] = local_names(function)
        return self._locals[function]

    def values(self, node: ast.expr, frame: Frame, depth: int = 0) -> list[object] | None:
        """Every value that `node` can have, or None where one of them is not known."""
        if depth > _DEEPEST:
            return None
        bindings: dict[str, list[object]] = {}
        count = 1
        for name in sorted(free_names(node)):
            values = self._bound(name, frame, depth + 1)
            if values is None:
                return None
            if values is not _MODULE:
                bindings[name] = values
                count *= len(values)
        if count > _MOST:
            return None
        found: list[object] = []
        for combination in itertools.product(*bindings.values()):
            scope = Scope(self._module, dict(zip(bindings, combination, strict=True)))
            try:
                found.append(self._interpreter.value(node, scope))
            except UnknowableError:
                return None
        return found

    def _bound(self, name: str, frame: Frame, depth: int) -> list[object] | None:
        """What a name can be bound to around `frame`: by a loop, in a class's body, in a function, by the module."""
        in_function = False
        for each in frame.around():
            match each.node:
                case ast.For() | ast.AsyncFor() | ast.comprehension() as loop if name in target_names(loop.target):
                    return self._looped(loop, name, each, depth)
                case ast.ClassDef() as owner if not in_function and name in _bound_in_class(owner):
                    return self._class_attribute(owner, name)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() as function:
                    in_function = True
                    if name in all_parameters(function):
                        return None
                    if name in self.locals_of(function):
                        return self._assigned(function, name, each, depth)
        return _MODULE

    def _class_attribute(self, owner: ast.ClassDef, name: str) -> list[object] | None:
        try:
            return [self._interpreter.attribute(Class(owner.name, owner, self._module), name)]
        except UnknowableError:
            return None

    def _looped(self, loop: Loop, name: str, frame: Frame, depth: int) -> list[object] | None:
        outside = frame.parent or frame
        containers = self.values(loop.iter, outside, depth)
        if containers is None:
            return self._keys(loop, name, outside, depth)
        found: list[object] = []
        for container in containers:
            try:
                for item in self._interpreter.iterate(container, loop.iter):
                    scope = Scope(self._module)
                    self._interpreter.bind(loop.target, item, scope)
                    found.append(scope.names[name])
            except UnknowableError:
                return None
        return found

    def _keys(self, loop: Loop, name: str, frame: Frame, depth: int) -> list[object] | None:
        """The keys of a mapping whose values are not all known, where `name` takes the keys."""
        source, target = loop.iter, loop.target
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not source.args:
            if source.func.attr == "items" and isinstance(target, ast.Tuple):
                target = target.elts[0]
            elif source.func.attr != "keys":
                return None
            source = source.func.value
        if not isinstance(target, ast.Name) or target.id != name:
            return None
        found: list[object] = []
        for display in self._displays(source, frame):
            for key in display.keys:
                values = None if key is None else self.values(key, frame, depth)
                if values is None:
                    return None
                found += values
        return found or None

    def _displays(self, node: ast.expr, frame: Frame) -> list[ast.Dict]:
        """The ``{…}`` that a name or a call of a function of the module comes from; none where that is not plain."""
        candidates: list[ast.expr] | None = [node]
        if isinstance(node, ast.Name):
            function = next((each for each in frame.functions() if node.id in self.locals_of(each)), None)
            body = self._module.about(node.id) if function is None else list(statements_of(function))
            candidates = only_assigned(body, node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            functions = [each for each in self._module.about(node.func.id) if isinstance(each, ast.FunctionDef)]
            returns = [each for one in functions for each in statements_of(one) if isinstance(each, ast.Return)]
            candidates = [each.value for each in returns if each.value is not None]
        displays = [each for each in candidates or () if isinstance(each, ast.Dict)]
        return displays if len(displays) == len(candidates or ()) else []

    def _assigned(self, function: FunctionNode, name: str, frame: Frame, depth: int) -> list[object] | None:
        nodes = only_assigned(statements_of(function), name)
        if nodes is None:
            return self._imported(function, name)
        found: list[object] = []
        for node in nodes:
            values = self.values(node, frame, depth)
            if values is None:
                return None
            found += values
        return found

    def _imported(self, function: FunctionNode, name: str) -> list[object] | None:
        """A name that the function binds by an import of its own, and by nothing else."""
        binding = [each for each in statements_of(function) if name in bound_names(each)]
        if len(binding) != 1 or not isinstance(binding[0], ast.ImportFrom | ast.Import):
            return None
        scope = Scope(self._module)
        self._interpreter.run(binding, scope)
        value = scope.names.get(name, MISSING)
        return None if value is MISSING else [value]


def only_assigned(body: Iterable[ast.stmt], name: str) -> list[ast.expr] | None:
    """Every expression that `body` assigns to `name`; None where it binds or changes it in any other way too."""
    found: list[ast.expr] = []
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value) if _names(targets, name):
                found.append(value)
            case ast.AnnAssign(target=ast.Name(id=bound), value=value) if bound == name:
                found += [] if value is None else [value]
            case _ if name in _bound_here(statement):
                return None
    return found or None


def _names(targets: list[ast.expr], name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _bound_here(statement: ast.stmt) -> set[str]:
    """The names that one statement binds, without those bound by the statements in it."""
    is_block = isinstance(statement, ast.If | ast.While | ast.For | ast.AsyncFor | ast.With | ast.AsyncWith)
    is_block = is_block or isinstance(statement, ast.Try | ast.TryStar | ast.Match)
    by_itself = set(bound_by_head(statement) if is_block else bound_names(statement))
    return by_itself | {each.target.id for each in _expressions(statement) if isinstance(each, ast.NamedExpr)}


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from ast.walk(child)


def local_names(function: FunctionNode) -> set[str]:
    """The names that a function's body binds."""
    return {name for statement in statements_of(function) for name in _bound_here(statement)}


def statements_of(function: FunctionNode) -> Iterator[ast.stmt]:
    """The statements of a function, nested ones included, but not those of functions and classes inside it."""
    queue: list[ast.AST] = list(body_of(function))
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, FunctionNode | ast.ClassDef):
            queue += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr)]


def free_names(node: ast.expr) -> set[str]:
    """The names in an expression that it does not bind itself."""
    loaded = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return loaded - stored


def target_names(target: ast.expr) -> set[str]:
    """The names that a target binds."""
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def all_parameters(function: FunctionNode) -> Iterator[str]:
    """The names of a function's parameters, ``*args`` and ``**kwargs`` included."""
    yield from parameters(function)
    yield from (each.arg for each in (function.args.vararg, function.args.kwarg) if each is not None)


def _bound_in_class(owner: ast.ClassDef) -> set[str]:
    return {name for statement in owner.body for name in bound_names(statement)}
