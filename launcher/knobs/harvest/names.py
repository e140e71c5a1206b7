"""Which names an expression can stand for when it is used to read or set a variable."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from launcher.knobs.harvest.bindings import (
    Bindings,
    all_parameters,
    free_names,
    only_assigned,
    statements_of,
    target_names,
)
from launcher.knobs.harvest.calls import METHODS
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.frames import Frame, FunctionNode, parameters
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.source import Module
from launcher.knobs.harvest.values import Class, Member, Scope, UnknowableError


@dataclass(frozen=True, slots=True)
class Known:
    """Every name that it can be."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FromParameter:
    """Decided by the caller of `function`: `template` with `parameter` in it."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
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
        self._bindings = Bindings(module, interpreter)

    def resolve(self, node: ast.expr, frame: Frame) -> Resolution:
        """What `node`, standing in `frame`, can be."""
        if isinstance(node, ast.Constant):
            return Known((node.value,)) if isinstance(node.value, str) else Computed(None)
        owner = frame.owner()
        if _is_own_field(node) and isinstance(node, ast.Attribute) and owner is not None:
            return self._field(node, owner)
        values = self._bindings.values(node, frame)
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
                if node.id in all_parameters(function) and not isinstance(function, ast.Lambda):
                    return FromParameter(function, node.id, node.id, each=True)
        values = self._bindings.values(node, frame)
        items = [item for value in values or () for item in (value if isinstance(value, list | tuple | set) else ())]
        names = tuple(dict.fromkeys(item for item in items if isinstance(item, str)))
        return Known(names) if names and len(names) == len(set(map(str, items))) else Computed(None)

    def value(self, node: ast.expr, frame: Frame) -> object:
        """The one value of `node`, standing in `frame`; raises UnknowableError."""
        values = self._bindings.values(node, frame)
        if values is None or len(values) != 1:
            raise UnknowableError(source_of(node))
        return values[0]

    def assigned(self, node: ast.expr, frame: Frame) -> list[ast.expr]:
        """What the function around assigns to the local that `node` names."""
        function = next(frame.functions(), None)
        if not isinstance(node, ast.Name) or function is None:
            return []
        return only_assigned(statements_of(function), node.id) or []

    def _field(self, node: ast.Attribute, owner: ast.ClassDef) -> Resolution:
        try:
            value = self._interpreter.attribute(Class(owner.name, owner, self._module), node.attr)
        except UnknowableError:
            return FromField(owner, node.attr)
        text = _text(value)
        return FromField(owner, node.attr) if text is None else Known((text,))

    def _undecided(self, node: ast.expr, frame: Frame) -> Resolution:
        """A name that hangs on a caller's argument, or on more than the source has."""
        free = free_names(node)
        for function in frame.functions():
            given = [name for name in all_parameters(function) if name in free and name not in ("self", "cls")]
            if not given:
                continue
            if isinstance(function, ast.Lambda) or len(given) > 1 or given[0] not in parameters(function):
                return Computed(pattern(node))
            is_text = _is_text_of(node, given[0])
            return FromParameter(function, given[0], source_of(node)) if is_text else Computed(pattern(node))
        return self._one_step_back(node, frame) or Computed(pattern(node))

    def _one_step_back(self, node: ast.expr, frame: Frame) -> Resolution | None:
        """A local that a line above binds to something a caller decides: by assignment, or by a loop over it."""
        if not isinstance(node, ast.Name):
            return None
        for each in frame.around():
            if isinstance(each.node, ast.For | ast.comprehension) and node.id in target_names(each.node.target):
                return self._looped_parameter(each.node, frame)
            if isinstance(each.node, FunctionNode):
                assigned = only_assigned(statements_of(each.node), node.id)
                if assigned or node.id in self._bindings.locals_of(each.node):
                    return self._undecided(assigned[0], each) if assigned and len(assigned) == 1 else None
        return None

    def _looped_parameter(self, loop: ast.For | ast.comprehension, frame: Frame) -> Resolution | None:
        if isinstance(loop.iter, ast.Name) and isinstance(loop.target, ast.Name):
            for function in frame.functions():
                kwarg = function.args.kwarg
                if isinstance(function, ast.Lambda) or (kwarg is not None and kwarg.arg == loop.iter.id):
                    continue
                if loop.iter.id in all_parameters(function):
                    return FromParameter(function, loop.iter.id, loop.target.id, each=True)
        return None


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


def evaluate_template(
    template: str, parameter: str, value: str, interpreter: Interpreter, module: Module
) -> str | None:
    """The name that a helper makes of a caller's `value`; None where the source does not decide it."""
    scope = Scope(module, {parameter: value})
    try:
        return _text(interpreter.value(ast.parse(template, mode="eval").body, scope))
    except UnknowableError:
        return None
