"""Evaluates the expressions of an engine's source as far as the source alone decides them.

Only plain data is computed, by Python's own operators; nothing of the engine is called. Whatever is left
raises `UnknowableError`, so that a caller can say "not known" and never has to guess.
"""

from __future__ import annotations

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from typing import Any

from launcher.knobs.harvest.values import Class, Member, ModuleRef, Opaque, Record, Scope, Symbol, UnknowableError

_LIMIT = 100_000  # no default or choice of a real engine comes near; a hostile 9**9**9 must not eat the machine

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], object]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}


def source_of(node: ast.AST) -> str:
    """The expression as text, for messages."""
    return ast.unparse(node)


class Expressions(ABC):
    """The evaluator; what names and calls mean is the subclass's to say."""

    @abstractmethod
    def lookup(self, name: str, scope: Scope) -> object:
        """What `name` stands for in `scope`; raises UnknowableError."""

    @abstractmethod
    def call(self, node: ast.Call, scope: Scope) -> object:
        """The value of a call; raises UnknowableError."""

    @abstractmethod
    def function(self, node: ast.Lambda, scope: Scope) -> object:
        """A lambda as a value."""

    @abstractmethod
    def attribute(self, base: object, name: str) -> object:
        """``base.name``; raises UnknowableError."""

    @abstractmethod
    def members(self, enum: Class) -> list[Member]:
        """The members of an enumeration, in order; raises UnknowableError for any other class."""

    def value(self, node: ast.expr, scope: Scope) -> object:
        """The value of `node`; raises UnknowableError where the source does not decide it."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnknowableError(source_of(node))
        try:
            found: object = method(node, scope)
        except UnknowableError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise UnknowableError(source_of(node)) from error
        if isinstance(found, Opaque):
            raise UnknowableError(found.source)
        return found

    def iterate(self, value: object, node: ast.AST) -> list[object]:
        """The items of `value`, an enumeration's members included."""
        if isinstance(value, Class):
            return list(self.members(value))
        if not isinstance(value, str | Sequence | Set | Mapping | ValuesView) or len(value) > _LIMIT:
            raise UnknowableError(source_of(node))
        return sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)

    def _constant(self, node: ast.Constant, _scope: Scope) -> object:
        return node.value

    def _name(self, node: ast.Name, scope: Scope) -> object:
        return self.lookup(node.id, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> object:
        return self.attribute(self.value(node.value, scope), node.attr)

    def _call(self, node: ast.Call, scope: Scope) -> object:
        return self.call(node, scope)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> object:
        return self.function(node, scope)

    def _items(self, nodes: list[ast.expr], scope: Scope) -> list[object]:
        items: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items += self.iterate(self.value(node.value, scope), node)
            else:
                items.append(self.value(node, scope))
        return items

    def _list(self, node: ast.List, scope: Scope) -> object:
        return self._items(node.elts, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope) -> object:
        return tuple(self._items(node.elts, scope))

    def _set(self, node: ast.Set, scope: Scope) -> object:
        return set(self._items(node.elts, scope))

    def _dict(self, node: ast.Dict, scope: Scope) -> object:
        found: dict[object, object] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item, scope)
            if key is not None:
                found[self.value(key, scope)] = value
            elif isinstance(value, Mapping):
                found.update(value)
            else:
                raise UnknowableError(source_of(node))
        return found

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> object:
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None:
                    raise UnknowableError(source_of(node))
                value = self.value(part.value, scope)
                _only_plain(value, node)
                parts.append(repr(value) if part.conversion == ord("r") else str(value))
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
        return "".join(parts)

    def _binop(self, node: ast.BinOp, scope: Scope) -> object:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        _only_plain(left, node)
        _only_plain(right, node)
        if not _affordable(node.op, left, right):
            raise UnknowableError(source_of(node))
        return _BINARY[type(node.op)](left, right)

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> object:
        value = self.value(node.operand, scope)
        _only_plain(value, node)
        return _UNARY[type(node.op)](value)

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> object:
        stop_at = isinstance(node.op, ast.Or)
        value: object = None
        for operand in node.values:
            value = self.value(operand, scope)
            _only_plain(value, node)
            if bool(value) is stop_at:
                break
        return value

    def _compare(self, node: ast.Compare, scope: Scope) -> object:
        left = self.value(node.left, scope)
        for operation, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand, scope)
            _only_plain(left, node)
            _only_plain(right, node)
            if not _COMPARE[type(operation)](left, right):
                return False
            left = right
        return True

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> object:
        return self.value(node.body if self.value(node.test, scope) else node.orelse, scope)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> object:
        base: Any = self.value(node.value, scope)  # one that has no items raises TypeError, which `value` catches
        _only_plain(base, node)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            return base[slice(*(None if part is None else self.value(part, scope) for part in parts))]
        return base[self.value(node.slice, scope)]

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> object:
        value = self.value(node.value, scope)
        scope.names[node.target.id] = value
        return value

    def _listcomp(self, node: ast.ListComp, scope: Scope) -> object:
        return [self.value(node.elt, inner) for inner in self._comprehension(node.generators, scope)]

    def _setcomp(self, node: ast.SetComp, scope: Scope) -> object:
        return {self.value(node.elt, inner) for inner in self._comprehension(node.generators, scope)}

    def _generatorexp(self, node: ast.GeneratorExp, scope: Scope) -> object:
        return [self.value(node.elt, inner) for inner in self._comprehension(node.generators, scope)]

    def _dictcomp(self, node: ast.DictComp, scope: Scope) -> object:
        return {
            self.value(node.key, inner): self.value(node.value, inner)
            for inner in self._comprehension(node.generators, scope)
        }

    def _comprehension(self, generators: list[ast.comprehension], scope: Scope) -> Iterator[Scope]:
        first, *rest = generators
        for item in self.iterate(self.value(first.iter, scope), first.iter):
            inner = Scope(scope.module, {}, scope)
            self.bind(first.target, item, inner)
            if all(self.value(test, inner) for test in first.ifs):
                if rest:
                    yield from self._comprehension(rest, inner)
                else:
                    yield inner

    def bind(self, target: ast.expr, value: object, scope: Scope) -> None:
        """Binds a name, or the names of a tuple, to `value`."""
        match target:
            case ast.Name(id=name):
                scope.names[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                items = self.iterate(value, target)
                if len(items) != len(elements):
                    raise UnknowableError(source_of(target))
                for element, item in zip(elements, items, strict=True):
                    self.bind(element, item, scope)
            case _:
                raise UnknowableError(source_of(target))


def _only_plain(value: object, node: ast.AST) -> None:
    """Python's operators are for data; a symbol compared or added would give an invented answer."""
    if isinstance(value, Symbol | Class | ModuleRef | Record | Opaque):
        raise UnknowableError(source_of(node))


def _affordable(operation: ast.operator, left: object, right: object) -> bool:
    """Whether the result stays of a size that a setting can have."""
    if isinstance(operation, ast.Pow | ast.LShift):
        base = left.bit_length() if isinstance(left, int) else 1
        return isinstance(right, int | float) and base * abs(right) <= _LIMIT
    if isinstance(operation, ast.Mult):
        sizes = [len(side) if isinstance(side, str | bytes | list | tuple) else None for side in (left, right)]
        count = next((side for side in (left, right) if isinstance(side, int)), 1)
        return all(size is None or size * max(count, 1) <= _LIMIT for size in sizes)
    return True
