"""What an expression of the engine can stand for while its source is read: plain values, and names for the rest."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from launcher.knobs.facts import Unevaluated, Value
from launcher.knobs.harvest.source import Module


class UnknowableError(Exception):
    """The source alone does not say what this expression is."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.source = source


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something outside the tree, by its dotted name: ``argparse.BooleanOptionalAction``."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the tree."""

    module: Module


@dataclass(eq=False, slots=True)
class Scope:
    """The names that a body of statements sees: its own, then the function's around it, then the module's."""

    module: Module
    names: dict[str, object] = field(default_factory=dict)
    parent: Scope | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A function or lambda of the tree, with the scope in which it was made."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope


@dataclass(frozen=True, eq=False, slots=True)
class Class:
    """A class of the tree."""

    name: str
    node: ast.ClassDef
    module: Module


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration of the tree."""

    enum: str
    name: str
    value: object
    is_value: bool
    """Whether the member is itself a value of its base type, as in an IntEnum."""


@dataclass(frozen=True, slots=True)
class EnvRef:
    """A variable of the engine's registry, as an object: ``envs.NAME``."""

    name: str


@dataclass(frozen=True, slots=True)
class Registry:
    """The engine's registry object, ``envs``."""


@dataclass(frozen=True, slots=True)
class Record:
    """A field of a record class, as ``dataclasses.fields`` would give it."""

    name: str
    default: object


@dataclass(frozen=True, slots=True)
class Parser:
    """The argument parser being filled, or one of its groups."""

    group: str | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """What a name was bound to when its expression could not be evaluated."""

    source: str


def plain(value: object) -> Value:  # noqa: PLR0911 - one line per kind of value
    """`value` in the form that facts have: sets sorted, enumerations by value, callables by name."""
    match value:
        case None | bool() | int() | float() | str() | Unevaluated():
            return value
        case bytes():
            return Unevaluated(repr(value))
        case Member(enum=enum, name=name, value=inner, is_value=is_value):
            return plain(inner) if is_value else Unevaluated(f"{enum}.{name}")
        case list() | tuple():
            return tuple(plain(item) for item in value)
        case set() | frozenset():
            return tuple(sorted((plain(item) for item in value), key=str))
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case Symbol(name=name) | Function(name=name) | Class(name=name) | EnvRef(name=name):
            return Unevaluated(name)
        case Opaque(source=source):
            return Unevaluated(source)
        case _:
            return Unevaluated(type(value).__name__.lower())
