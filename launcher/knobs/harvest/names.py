"""Which names an expression can stand for when it is used to read or set a variable."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from launcher.knobs.harvest.calls import METHODS
from launcher.knobs.harvest.elide import body_of
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.frames import Frame, FunctionNode, local_names, parameters
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.source import Module
from launcher.knobs.harvest.statements import MISSING
from launcher.knobs.harvest.values import Class, Member, Scope, UnknowableError

_MOST = 400  # combinations of loop variables; more than this is no list of settings


@dataclass(frozen=True, slots=True)
class Known:
    """Every name that it can be."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FromParameter:
    """Decided by the caller of `function`: `template` with `parameter` in it."""

    function: FunctionNode
    parameter: str
    template: str
    each: bool = False
    """The parameter holds several names, and each of them is used."""


@dataclass(frozen=True, slots=True)
class FromField:
    """Decided by whoever makes an object of the class around: ``self.field``."""

    owner: ast.ClassDef
    field: str


@dataclass(frozen=True, slots=True)
class Computed:
    """Not decided by the source; `pattern` has ``*`` for what is missing."""

    pattern: str | None


Resolution = Known | FromParameter | FromField | Computed


class Names:
    """Resolves the names used in one module."""

    def __init__(self, module: Module, interpreter: Interpreter) -> None:
        self._module = module
        self._interpreter = interpreter

    def resolve(self, node: ast.expr, frame: Frame) -> Resolution:
        """What `node`, standing in `frame`, can be."""
        if isinstance(node, ast.Constant):
            return Known((node.value,)) if isinstance(node.value, str) else Computed(None)
        owner = frame.owner()
        if _is_own_field(node) and isinstance(node, ast.Attribute) and owner is not None:
            return self._field(node, owner)
        values = self._values(node, frame, depth=0)
        if values is not None:
            names = tuple(dict.fromkeys(value for value in map(_text, values) if value is not None))
            return Known(names) if names and len(names) == len(set(map(str, values))) else Computed(pattern(node))
        return self._undecided(node, frame)

    def resolve_each(self, node: ast.expr, frame: Frame, *, spread: str | None) -> Resolution:
        """As `resolve`, for an argument of a helper that takes several names: as ``args``, or as one's ``items``."""
        if isinstance(node, ast.Starred):
            node, spread = node.value, "items"
        if spread != "items":
            return self.resolve(node, frame)
        if isinstance(node, ast.Name):
            for function in frame.functions():
                if node.id in _all_parameters(function):
                    return FromParameter(function, node.id, node.id, each=True)
        values = self._values(node, frame, depth=0)
        items = [item for value in values or () for item in (value if isinstance(value, list | tuple | set) else ())]
        names = tuple(dict.fromkeys(item for item in items if isinstance(item, str)))
        return Known(names) if names and len(names) == len(set(map(str, items))) else Computed(None)

    def value(self, node: ast.expr, frame: Frame) -> object:
        """The one value of `node`, standing in `frame`; raises UnknowableError."""
        values = self._values(node, frame, depth=0)
        if values is None or len(values) != 1:
            raise UnknowableError(source_of(node))
        return values[0]

    def assigned(self, node: ast.expr, frame: Frame) -> list[ast.expr]:
        """What the function around assigns to the local that `node` names."""
        function = next(frame.functions(), None)
        if not isinstance(node, ast.Name) or function is None:
            return []
        return list(_assigned(function, node.id))

    def _field(self, node: ast.Attribute, owner: ast.ClassDef) -> Resolution:
        try:
            value = self._interpreter.attribute(Class(owner.name, owner, self._module), node.attr)
        except UnknowableError:
            return FromField(owner, node.attr)
        text = _text(value)
        return FromField(owner, node.attr) if text is None else Known((text,))

    def _undecided(self, node: ast.expr, frame: Frame) -> Resolution:
        """A name that hangs on a caller's argument, or on more than the source has."""
        free = _free(node)
        for function in frame.functions():
            given = [name for name in _all_parameters(function) if name in free and name not in ("self", "cls")]
            if given:
                usable = len(given) == 1 and given[0] in parameters(function) and _is_text_of(node, given[0])
                return FromParameter(function, given[0], source_of(node)) if usable else Computed(pattern(node))
        return self._one_step_back(node, frame) or Computed(pattern(node))

    def _one_step_back(self, node: ast.expr, frame: Frame) -> Resolution | None:
        """A local that a line above binds to something a caller decides: by assignment, or by a loop over it."""
        if not isinstance(node, ast.Name):
            return None
        for each in frame.around():
            if isinstance(each.node, ast.For | ast.comprehension) and node.id in _targets(each.node.target):
                return self._looped_parameter(each.node, frame)
            if isinstance(each.node, FunctionNode):
                assigned = list(_assigned(each.node, node.id))
                if assigned or node.id in local_names(each.node):
                    return self._undecided(assigned[0], each) if len(assigned) == 1 else None
        return None

    def _looped_parameter(self, loop: ast.For | ast.comprehension, frame: Frame) -> Resolution | None:
        if isinstance(loop.iter, ast.Name) and isinstance(loop.target, ast.Name):
            for function in frame.functions():
                kwarg = function.args.kwarg
                if loop.iter.id in _all_parameters(function) and (kwarg is None or kwarg.arg != loop.iter.id):
                    return FromParameter(function, loop.iter.id, loop.target.id, each=True)
        return None

    def _values(self, node: ast.expr, frame: Frame, depth: int) -> list[object] | None:
        """Every value that `node` can have, or None where one of them is not known."""
        if depth > 8:
            return None
        bindings: dict[str, list[object]] = {}
        for name in _free(node):
            values = self._bound(name, frame, depth + 1)
            if values is None:
                return None
            if values is not _MODULE:
                bindings[name] = values
        count = 1
        for values in bindings.values():
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
        """What a name can be bound to around `frame`: by a loop, by assignment, or by the module."""
        for each in frame.around():
            node = each.node
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and name in _targets(node.target):
                return self._looped(node, name, each, depth)
            if isinstance(node, FunctionNode):
                if name in _all_parameters(node):
                    return None
                if name in local_names(node):
                    return self._assigned_values(node, name, each, depth)
        return _MODULE

    def _looped(
        self, loop: ast.For | ast.AsyncFor | ast.comprehension, name: str, frame: Frame, depth: int
    ) -> list[object] | None:
        outside = frame.parent or frame
        containers = self._values(loop.iter, outside, depth)
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

    def _keys(
        self, loop: ast.For | ast.AsyncFor | ast.comprehension, name: str, frame: Frame, depth: int
    ) -> list[object] | None:
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
                values = None if key is None else self._values(key, frame, depth)
                if values is None:
                    return None
                found += values
        return found or None

    def _displays(self, node: ast.expr, frame: Frame) -> list[ast.Dict]:
        """The ``{…}`` that a name or a call of a function of the module comes from; none where that is not plain."""
        candidates: list[ast.expr] = [node]
        if isinstance(node, ast.Name):
            function = next((each for each in frame.functions() if node.id in local_names(each)), None)
            body = self._module.about(node.id) if function is None else list(_statements(function))
            candidates = list(_assigned_in(body, node.id))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            functions = [each for each in self._module.about(node.func.id) if isinstance(each, ast.FunctionDef)]
            returns = [each for one in functions for each in _statements(one) if isinstance(each, ast.Return)]
            candidates = [each.value for each in returns if each.value is not None]
        displays = [each for each in candidates if isinstance(each, ast.Dict)]
        return displays if len(displays) == len(candidates) else []

    def _assigned_values(self, function: FunctionNode, name: str, frame: Frame, depth: int) -> list[object] | None:
        nodes = list(_assigned(function, name))
        if not nodes:
            return self._imported(function, name)
        found: list[object] = []
        for node in nodes:
            values = self._values(node, frame, depth)
            if values is None:
                return None
            found += values
        return found

    def _imported(self, function: FunctionNode, name: str) -> list[object] | None:
        """A name that the function binds by an import of its own."""
        for statement in _statements(function):
            if isinstance(statement, ast.ImportFrom | ast.Import):
                scope = Scope(self._module)
                self._interpreter.run([statement], scope)
                if name in scope.names and scope.names[name] is not MISSING:
                    return [scope.names[name]]
        return None


_MODULE: list[object] = []
"""Marks a name that no function around binds: the module, or Python, does."""


def pattern(node: ast.expr) -> str | None:
    """``SGLANG_*_X`` for ``f"SGLANG_{name}_X"``; None where no part of the name is written."""
    parts: list[str] = []
    match node:
        case ast.JoinedStr(values=values):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "*" for part in values]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [pattern(left) or "*", pattern(right) or "*"]
        case ast.Constant(value=str() as text):
            parts = [text]
    joined = "".join(parts)
    while "**" in joined:
        joined = joined.replace("**", "*")
    return joined if joined.strip("*") else None


def _is_text_of(node: ast.expr, parameter: str) -> bool:
    """Whether `parameter` stands in `node` as the text itself, not as an object of which something is read."""
    objects = {
        each.value.id
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute | ast.Subscript) and isinstance(each.value, ast.Name)
    }
    methods = {
        each.func.value.id
        for each in ast.walk(node)
        if isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr in METHODS[str]
        and isinstance(each.func.value, ast.Name)
    }
    return parameter not in objects - methods


def _text(value: object) -> str | None:
    if isinstance(value, Member):
        value = value.value
    return value if isinstance(value, str) else None


def _is_own_field(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _free(node: ast.expr) -> set[str]:
    """The names in an expression that it does not bind itself."""
    loaded = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return loaded - stored


def _targets(target: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _all_parameters(function: FunctionNode) -> Iterator[str]:
    yield from parameters(function)
    yield from (each.arg for each in (function.args.vararg, function.args.kwarg) if each is not None)


def _statements(function: FunctionNode) -> Iterator[ast.stmt]:
    """The statements of a function, nested ones included, but not those of functions inside it."""
    queue: list[ast.AST] = list(body_of(function))
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, FunctionNode | ast.ClassDef):
            queue += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr)]


def _assigned(function: FunctionNode, name: str) -> Iterator[ast.expr]:
    """Every expression that the function assigns to `name`."""
    return _assigned_in(_statements(function), name)


def _assigned_in(body: Iterable[ast.stmt], name: str) -> Iterator[ast.expr]:
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    yield value
            case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value) if bound == name:
                yield value


def evaluate_template(
    template: str, parameter: str, value: str, interpreter: Interpreter, module: Module
) -> str | None:
    """The name that a helper makes of a caller's `value`; None where the source does not decide it."""
    scope = Scope(module, {parameter: value})
    try:
        return _text(interpreter.value(ast.parse(template, mode="eval").body, scope))
    except UnknowableError:
        return None
