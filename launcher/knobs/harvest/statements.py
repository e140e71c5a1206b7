"""Follows statements as far as they decide names: assignments, branches, loops, imports.

What a statement cannot decide is left undecided: an unknown branch is followed both ways, an unknown value stays
unknown. Nothing is executed; statements without a bearing on names are passed over.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence

from launcher.knobs.harvest.calls import method
from launcher.knobs.harvest.expressions import Expressions, source_of
from launcher.knobs.harvest.source import SourceTree, bound_names
from launcher.knobs.harvest.values import Class, Function, ModuleRef, Opaque, Scope, Symbol, UnknowableError

MISSING = object()
"""No value at all: a name that is not bound, a body that did not return."""


class Statements(Expressions):
    """The part of the interpreter that binds names in a scope."""

    tree: SourceTree
    conditions: list[str]
    """The undecided conditions around the statement being followed, outermost first."""

    @abstractmethod
    def imported(self, dotted: str, name: str) -> object:
        """What ``from dotted import name`` binds."""

    @abstractmethod
    def arguments(self, node: ast.Call, scope: Scope) -> tuple[list[object], dict[str, object]]:
        """The values that a call hands over."""

    def value_or_opaque(self, node: ast.expr, scope: Scope) -> object:
        """The value of `node`, or its source where that is all that is known."""
        try:
            return self.value(node, scope)
        except UnknowableError as error:
            return Opaque(error.source)

    def run(self, body: Sequence[ast.stmt], scope: Scope) -> object:
        """Follows `body`; the value returned, an Opaque one where that is undecided, or a marker for none."""
        for statement in body:
            outcome = self._statement(statement, scope)
            if outcome is not MISSING:
                return outcome
        return MISSING

    def _statement(self, statement: ast.stmt, scope: Scope) -> object:
        match statement:
            case ast.Return(value=value):
                return None if value is None else self.value_or_opaque(value, scope)
            case ast.Raise():
                return Opaque("raise")
            case ast.If() | ast.For() | ast.With() | ast.Try():
                return self._block(statement, scope)
            case ast.Expr(value=value):
                self._effect(value, scope)
            case _:
                self._binding(statement, scope)
        return MISSING

    def _block(self, statement: ast.stmt, scope: Scope) -> object:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                return self._branch(test, body, orelse, scope)
            case ast.For(target=target, iter=iterable, body=body):
                return self._loop(target, iterable, body, scope)
            case ast.Try(body=body, handlers=handlers):
                return self._try(body, handlers, scope)
            case ast.With(body=body):
                return self.run(body, scope)
        return MISSING

    def _binding(self, statement: ast.stmt, scope: Scope) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                found = self.value_or_opaque(value, scope)
                for each in targets:
                    self._assign(each, found, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self.value_or_opaque(value, scope), scope)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                joined = ast.copy_location(ast.BinOp(ast.Name(name, ast.Load()), op, value), statement)
                self._assign(target, self.value_or_opaque(ast.fix_missing_locations(joined), scope), scope)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                scope.names[name] = Function(name, statement, scope)
            case ast.ClassDef(name=name):
                scope.names[name] = Class(name, statement, scope.module)
            case ast.Import(names=names):
                for alias in names:
                    self._import(alias, scope)
            case ast.ImportFrom(names=names):
                dotted = scope.module.absolute(statement)
                for alias in names:
                    scope.names[alias.asname or alias.name] = self.imported(dotted, alias.name)

    def _import(self, alias: ast.alias, scope: Scope) -> None:
        dotted = alias.name if alias.asname else alias.name.split(".")[0]
        module = self.tree.module(dotted)
        scope.names[alias.asname or dotted] = ModuleRef(module) if module else Symbol(dotted)

    def _assign(self, target: ast.expr, value: object, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.names[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                try:
                    self.bind(target, value, scope)
                except UnknowableError as error:
                    for element in elements:
                        self._assign(element, Opaque(error.source), scope)
            case ast.Subscript(value=ast.Name(id=name), slice=key):
                container = scope.names.get(name)
                if isinstance(container, dict):
                    container[self.value_or_opaque(key, scope)] = value

    def _effect(self, node: ast.expr, scope: Scope) -> None:
        """Follows an expression that stands alone; what it would have changed is unknown when it cannot be followed."""
        try:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id in scope.names:
                    changed = method(scope.names[owner.id], node.func.attr)
                    if changed is not None:
                        positional, keywords = self.arguments(node, scope)
                        changed(*positional, **keywords)
                        return
            self.value(node, scope)
        except (UnknowableError, TypeError, ValueError, LookupError) as error:
            owner_name = _owner(node)
            if owner_name in scope.names and isinstance(scope.names[owner_name], list | dict | set):
                scope.names[owner_name] = Opaque(str(error))

    def _branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], scope: Scope) -> object:
        if _is_type_checking(test):
            return self.run(body, scope)
        try:
            return self.run(body if self.value(test, scope) else orelse, scope)
        except UnknowableError:
            pass
        condition = source_of(test)
        before = {name: copied(value) for name, value in scope.names.items()}
        self.conditions.append(condition)
        outcome = self.run(body, scope)
        self.conditions[-1] = f"not ({condition})"
        then, scope.names = scope.names, before
        otherwise = self.run(orelse, scope)
        self.conditions.pop()
        for name in {*then, *scope.names}:
            if then.get(name, MISSING) != scope.names.get(name, MISSING):
                scope.names[name] = Opaque(f"{name} if {condition}")
        if outcome is MISSING and otherwise is MISSING:
            return MISSING
        return outcome if outcome == otherwise else Opaque(condition)

    def _loop(self, target: ast.expr, iterable: ast.expr, body: list[ast.stmt], scope: Scope) -> object:
        try:
            items = self.iterate(self.value(iterable, scope), iterable)
        except UnknowableError as error:
            for name in bound_in(body):
                scope.names[name] = Opaque(error.source)
            return MISSING
        for item in items:
            self._assign(target, item, scope)
            outcome = self.run(body, scope)
            if outcome is not MISSING:
                return outcome
        return MISSING

    def _try(self, body: list[ast.stmt], handlers: list[ast.ExceptHandler], scope: Scope) -> object:
        outcome = self.run(body, scope)
        for name in {name for handler in handlers for name in bound_in(handler.body)} - set(scope.names):
            scope.names[name] = Opaque(name)
        return outcome


def copied(value: object) -> object:
    """A container of its own, so that changing what a name is bound to changes nothing else."""
    return value.copy() if isinstance(value, list | dict | set) else value


def _owner(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return node.func.value.id
    return ""


def bound_in(body: list[ast.stmt]) -> set[str]:
    """The names that `body` binds or changes."""
    return {name for statement in body for name in bound_names(statement)}


def _is_type_checking(test: ast.expr) -> bool:
    return source_of(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
