"""What the names and calls of an engine's source stand for: modules, classes, enumerations, its own functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from launcher.knobs.facts import Unevaluated, Value
from launcher.knobs.harvest.calls import BUILTINS, CONSTANTS, ENVIRONMENT, external, method
from launcher.knobs.harvest.elide import body_of
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.source import Module, SourceTree
from launcher.knobs.harvest.statements import MISSING, Statements, copied
from launcher.knobs.harvest.values import (
    Class,
    EnvRef,
    Function,
    Member,
    ModuleRef,
    Opaque,
    Parser,
    Record,
    Registry,
    Scope,
    Symbol,
    UnknowableError,
)

_DEEPEST = 40
_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "IntFlag", "Flag"})


class Interpreter(Statements):
    """Evaluates names, calls and statements of one source tree.

    With `defaults`, those of the registry, variables are taken as unset: ``envs.NAME.get()`` is its default. `assumed`
    collects their names, since another value may change the answer. Without, no read of a variable has a value.
    """

    def __init__(self, tree: SourceTree, defaults: Mapping[str, Value] | None = None) -> None:
        self.tree = tree
        self.defaults = defaults
        self.assumed: set[str] = set()
        self.conditions: list[str] = []
        self.hooks: dict[str, Callable[[ast.Call, Scope], object]] = {}
        """Calls that are answered by the harvest instead of being followed, by the function's bare name."""
        self._depth = 0
        self._modules: dict[tuple[str, str], object] = {}
        self._busy: set[tuple[str, str]] = set()

    def lookup(self, name: str, scope: Scope) -> object:
        """What `name` stands for: the function's names, the module's, then Python's own."""
        here: Scope | None = scope
        while here is not None:
            if name in here.names:
                return copied(here.names[name])
            here = here.parent
        value = self.module_value(scope.module, name)
        if value is not MISSING:
            return value
        if name in BUILTINS or name in ("getattr", "isinstance", "print"):
            return Symbol(f"builtins.{name}")
        raise UnknowableError(name)

    def module_value(self, module: Module, name: str) -> object:
        """What a module's top level leaves `name` bound to; a marker where it does not bind it."""
        if name == "envs" and module.name.rpartition(".")[2] == "environ":
            return Registry()
        key = (module.name, name)
        if key in self._busy:
            return Opaque(name)  # a circle, as in `x = x or …` of a re-exporting package
        if key not in self._modules:
            statements = module.about(name)
            if not statements:
                return self._not_bound(module, name)
            self._busy.add(key)
            try:
                scope = Scope(module)
                self.run(statements, scope)
                self._modules[key] = scope.names.get(name, Opaque(name))
            finally:
                self._busy.discard(key)
        return copied(self._modules[key])

    def _not_bound(self, module: Module, name: str) -> object:
        """A name that no statement of the module binds by itself: a submodule's, or one that came with a star."""
        below = f"{module.name}.{name}"
        submodule = self.tree.module(below) if module.package == module.name else None
        if submodule is not None:
            return ModuleRef(submodule)
        if self.tree.is_folder(below):
            return Symbol(below)
        for star in module.about("*"):
            source = self.tree.module(module.absolute(star)) if isinstance(star, ast.ImportFrom) else None
            if source is not None and source is not module:
                value = self.module_value(source, name)
                if value is not MISSING:
                    return value
        return MISSING

    def imported(self, dotted: str, name: str) -> object:
        """What ``from dotted import name`` binds; a name from outside the tree stays a name."""
        module = self.tree.module(dotted)
        if module is None:
            return self._outside_or_below(f"{dotted}.{name}")
        # A package that is asked for a name which it is importing itself means its own submodule.
        value = MISSING if (module.name, name) in self._busy else self.module_value(module, name)
        if value is MISSING:
            submodule = self.tree.module(f"{dotted}.{name}")
            return ModuleRef(submodule) if submodule else Opaque(f"{dotted}.{name}")
        return value

    def attribute(self, base: object, name: str) -> object:
        """``base.name`` for modules, classes, enumerations, records and names from outside."""
        match base:
            case Symbol(name=dotted):
                return self._outside_or_below(f"{dotted}.{name}")
            case ModuleRef(module=module):
                return self._module_attribute(module, name)
            case Registry():
                return EnvRef(name)
            case Class():
                return self._class_attribute(base, name)
        return self._plain_attribute(base, name)

    def _outside_or_below(self, dotted: str) -> object:
        """A name from outside the tree, or a module below a folder of it that has no ``__init__.py``."""
        module = self.tree.module(dotted)
        return ModuleRef(module) if module else CONSTANTS.get(dotted, Symbol(dotted))

    def _module_attribute(self, module: Module, name: str) -> object:
        value = self.module_value(module, name)
        if value is MISSING:
            raise UnknowableError(f"{module.name}.{name}")
        return value

    def _plain_attribute(self, base: object, name: str) -> object:
        match base:
            case Record() | Member() if name == "name":
                return base.name
            case Record() if name == "default":
                return base.default
            case Member() if name == "value":
                return base.value
            case Function() if name == "__doc__" and not isinstance(base.node, ast.Lambda):
                return ast.get_docstring(base.node, clean=False)
        raise UnknowableError(name)

    def _class_attribute(self, owner: Class, name: str) -> object:
        if self.is_enum(owner):
            for member in self.members(owner):
                if member.name == name:
                    return member
        scope = Scope(owner.module)
        for statement in owner.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return Function(f"{owner.name}.{name}", statement, scope)
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                self.run([statement], scope)
        if name in scope.names:
            value = scope.names[name]
            if isinstance(value, Opaque):
                raise UnknowableError(value.source)
            return value
        raise UnknowableError(f"{owner.name}.{name}")

    def is_enum(self, owner: Class) -> bool:
        """Whether a base of the class is one of the standard library's enumerations."""
        return any(base.rpartition(".")[2] in _ENUMS for base in map(source_of, owner.node.bases))

    def members(self, enum: Class) -> list[Member]:
        """The members of an enumeration, in order; raises UnknowableError for any other class."""
        if not self.is_enum(enum):
            raise UnknowableError(enum.name)
        bases = [source_of(base).rpartition(".")[2] for base in enum.node.bases]
        is_value = bool({"IntEnum", "StrEnum", "IntFlag", "str", "int"} & set(bases))
        found: list[Member] = []
        scope = Scope(enum.module)
        for statement in enum.node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                auto = isinstance(statement.value, ast.Call) and source_of(statement.value.func).endswith("auto")
                if auto:
                    value: object = name.lower() if "StrEnum" in bases else len(found) + 1
                else:
                    value = self.value(statement.value, scope)
                scope.names[name] = value
                found.append(Member(enum.name, name, value, is_value))
        return found

    def function(self, node: ast.Lambda, scope: Scope) -> object:
        """A lambda as a value."""
        return Function(source_of(node), node, scope)

    def call(self, node: ast.Call, scope: Scope) -> object:
        """The value of a call: of a hook, plain data's method, a built-in, or a function of the tree."""
        bare = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if bare in self.hooks:
            return self.hooks[bare](node, scope)
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value, scope)
            if isinstance(base, EnvRef):
                return self._environment(base, bare, node)
            bound = method(base, bare)
            if bound is not None:
                positional, keywords = self.arguments(node, scope)
                return bound(*positional, **keywords)
            called = self.attribute(base, bare)
        else:
            called = self.value(node.func, scope)
        if isinstance(called, Function):
            return self.invoke(called, *self.arguments(node, scope))
        if isinstance(called, Symbol):
            return self._outside(called, node, scope)
        raise UnknowableError(source_of(node))

    def _outside(self, called: Symbol, node: ast.Call, scope: Scope) -> object:
        known = external(called)
        if known is None and called.name.startswith("builtins."):
            known = BUILTINS.get(called.name.removeprefix("builtins."))
        if called.name in ENVIRONMENT and self.defaults is not None:
            return self._unset(node, scope)
        if known is None:
            raise UnknowableError(source_of(node))
        positional, keywords = self.arguments(node, scope)
        positional = [list(self.members(each)) if isinstance(each, Class) else each for each in positional]
        if any(isinstance(each, Symbol | ModuleRef | Parser) for each in positional):
            raise UnknowableError(source_of(node))
        return known(*positional, **keywords)

    def _environment(self, variable: EnvRef, attribute: str, node: ast.Call) -> object:
        if attribute not in ("get", "is_set") or self.defaults is None or variable.name not in self.defaults:
            raise UnknowableError(source_of(node))
        default = self.defaults[variable.name] if attribute == "get" else False
        if isinstance(default, Unevaluated):
            raise UnknowableError(source_of(node))
        self.assumed.add(variable.name)
        return default

    def _unset(self, node: ast.Call, scope: Scope) -> object:
        """What a read of the environment gives where the variable is not set."""
        name, *default = self.arguments(node, scope)[0]
        self.assumed.add(str(name))
        return default[0] if default else None

    def arguments(self, node: ast.Call, scope: Scope) -> tuple[list[object], dict[str, object]]:
        """The values that a call hands over, by position and by name."""
        found: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg is not None:
                found[keyword.arg] = value
            elif isinstance(value, dict):
                found.update(value)
            else:
                raise UnknowableError(source_of(keyword.value))
        return self._items(node.args, scope), found

    def invoke(self, function: Function, positional: Sequence[object], keywords: dict[str, object]) -> object:
        """What a function of the tree returns; raises UnknowableError where it does not come to one answer."""
        if self._depth > _DEEPEST or isinstance(function.node, ast.AsyncFunctionDef):
            raise UnknowableError(function.name)
        scope = Scope(function.scope.module, self.bound(function, positional, keywords), function.scope)
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            outcome = self.run(body_of(function.node), scope)
        finally:
            self._depth -= 1
        if isinstance(outcome, Opaque):
            raise UnknowableError(outcome.source)
        return None if outcome is MISSING else outcome

    def bound(self, function: Function, positional: Sequence[object], keywords: dict[str, object]) -> dict[str, object]:
        """The parameters of `function` for these arguments; what a default does not decide stays unknown."""
        arguments = function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        bound: dict[str, object] = {}
        for name, default in zip(reversed(names), reversed(arguments.defaults), strict=False):
            bound[name] = self.value_or_opaque(default, function.scope)
        for argument, default_or_none in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default_or_none is not None:
                bound[argument.arg] = self.value_or_opaque(default_or_none, function.scope)
        if len(positional) > len(names) and arguments.vararg is None:
            raise UnknowableError(function.name)
        bound.update(zip(names, positional, strict=False))
        if arguments.vararg is not None:
            bound[arguments.vararg.arg] = tuple(positional[len(names) :])
        known = {*names, *(argument.arg for argument in arguments.kwonlyargs)}
        bound.update((name, value) for name, value in keywords.items() if name in known)
        if arguments.kwarg is not None:
            bound[arguments.kwarg.arg] = {name: value for name, value in keywords.items() if name not in known}
        return bound
