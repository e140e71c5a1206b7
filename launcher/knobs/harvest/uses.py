"""Keeps what a file does with the environment: a name that is known at once, one that callers give, one that nobody can
tell."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from launcher.knobs.facts import DynamicRead, Place, Read, Reader, Unevaluated, Value, Write
from launcher.knobs.harvest.environment import Spellings
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.frames import Frame, condition_text, platforms
from launcher.knobs.harvest.helpers import Helper, from_field, from_function, subclasses
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.names import FromField, FromParameter, Known, Names, Resolution, pattern
from launcher.knobs.harvest.source import Module
from launcher.knobs.harvest.truth import function_reader
from launcher.knobs.harvest.values import UnknowableError, plain
from launcher.knobs.harvest.walk import Spot
from launcher.knobs.harvest.writing import keeps_what_is_set

_LONGEST = 160


@dataclass(slots=True)
class Uses:
    """What one file does with the environment."""

    reads: list[tuple[str, Read]] = field(default_factory=list)
    writes: list[tuple[str, Write]] = field(default_factory=list)
    dynamic: dict[DynamicRead, None] = field(default_factory=dict)
    helpers: dict[Helper, None] = field(default_factory=dict)
    called: set[Helper] = field(default_factory=set)
    """The helpers whose variable a call in this file decides, or hands on to its own callers."""
    depends: tuple[str, ...] = ()
    """The other files that were asked for what a name means, whether they are there or not."""


class Recorder:
    """Resolves the names that one module uses and keeps the uses."""

    def __init__(self, module: Module, interpreter: Interpreter, known: Spellings) -> None:
        self.uses = Uses()
        self.names = Names(module, interpreter)
        self._module = module
        self._known = known
        self._is_registry = module.name.endswith(".environ") and bool(module.about("Envs"))

    def read(self, spot: Spot, key: ast.expr, reader: Reader, default: ast.expr | None = None) -> None:
        """A read of the variable named by `key`."""
        found = self.names.resolve(key, spot.frame)
        if isinstance(found, Known):
            value = self.value(default, spot.frame)
            for name in found.names:
                self.keep_read(spot, name, reader, value)
        else:
            self.hand_on(spot, found, key, "read", reader, default)

    def write(self, spot: Spot, key: ast.expr, value: ast.expr | None, how: str) -> None:
        """A write to the variable named by `key`."""
        found = self.names.resolve(key, spot.frame)
        if isinstance(found, Known):
            for name in found.names:
                restores = value is not None and self._was_read(value, spot.frame, name)
                self.keep_write(spot, name, self.value(value, spot.frame), "restore" if restores else how)
        else:
            self.hand_on(spot, found, key, how, Reader("os.environ", "unknown"), value)

    def hand_on(
        self,
        spot: Spot,
        found: Resolution,
        key: ast.expr,
        operation: str,
        reader: Reader,
        default: ast.expr | None,
    ) -> None:
        """A name that a caller decides makes a helper; any other is reported as computed."""
        made: list[Helper] = []
        match found:
            case FromParameter() if not self._is_registry:
                made = [self._function_helper(spot, found, operation, reader, default)]
            case FromField() if not self._is_registry or operation == "read":
                made = self._class_helpers(spot, found, operation, reader)
        self.uses.helpers |= dict.fromkeys(made)
        if not made:
            self.dynamic(spot, pattern(key))

    def _function_helper(
        self, spot: Spot, found: FromParameter, operation: str, reader: Reader, default: ast.expr | None
    ) -> Helper:
        frame = next((each for each in spot.frame.around() if each.node is found.function), None)
        owner = None if frame is None or frame.parent is None else frame.parent.node
        own = function_reader(found.function.name, found.function, self._module)
        return from_function(
            found,
            self._module.file,
            owner if isinstance(owner, ast.ClassDef) else None,
            operation,
            default.id if isinstance(default, ast.Name) else None,
            _better(own, reader),
        )

    def _class_helpers(self, spot: Spot, found: FromField, operation: str, reader: Reader) -> list[Helper]:
        method = next((each for each in spot.frame.functions() if not isinstance(each, ast.Lambda)), None)
        own = reader if method is None else function_reader(method.name, method, self._module)
        made = from_field(found.owner, self._module.file, found.field, operation, _better(own, reader))
        return [] if made is None else [made, *subclasses(self._module.tree, made)]

    def keep_read(self, spot: Spot, name: str, reader: Reader, default: Value) -> None:
        """A read of `name`; an empty one asks for nothing."""
        if not name:
            return
        place = self._place(spot)
        own = None if reader.name == "registry" else reader
        self.uses.reads.append((name, Read(place, reader.name, own, default, platforms(place.file, spot.frame))))

    def keep_write(self, spot: Spot, name: str, value: Value, how: str) -> None:
        """A write to `name`; one that only happens where it is unset fills in a default."""
        if self._is_registry:
            return  # what the registry forwards is said of the deprecated name
        if how == "set" and keeps_what_is_set(spot.frame, name, self._is_name):
            how = "default"
        place = self._place(spot)
        on = platforms(place.file, spot.frame)
        self.uses.writes.append((name, Write(place, value, how, condition_text(spot.frame), on)))

    def dynamic(self, spot: Spot, found: str | None) -> None:
        """A name that the source does not decide. The registry's own machinery is none: its names are declared."""
        if not self._is_registry:
            self.uses.dynamic[DynamicRead(self._place(spot), _cut(source_of(spot.node)), found)] = None

    def value(self, node: ast.expr | None, frame: Frame) -> Value:
        """The value of an expression, or the expression."""
        if node is None:
            return None
        try:
            return plain(self.names.value(node, frame))
        except UnknowableError:
            return Unevaluated(_cut(source_of(node)))

    def _is_name(self, node: ast.expr, frame: Frame, name: str) -> bool:
        """Whether `node` is the variable's name, or one of the ways to read it."""
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(value=ast.Attribute(value=owner, attr=attr)) if self._known.is_registry(owner):
                    return attr == name
            node = node.args[0] if node.args else node
        found = self.names.resolve(node, frame)
        return isinstance(found, Known) and name in found.names

    def _was_read(self, value: ast.expr, frame: Frame, name: str) -> bool:
        """Whether `value` is what the variable held before: a local that was read from it."""
        assigned = self.names.assigned(value, frame)
        return any(isinstance(each, ast.Call | ast.Subscript) and self._reads(each, frame, name) for each in assigned)

    def _reads(self, node: ast.Call | ast.Subscript, frame: Frame, name: str) -> bool:
        if isinstance(node, ast.Subscript):
            return self._known.is_environ(node.value, frame) and self._is_name(node.slice, frame, name)
        return self._is_name(node, frame, name)

    def _place(self, spot: Spot) -> Place:
        return Place(self._module.file, spot.node.lineno)


def _better(own: Reader, inner: Reader) -> Reader:
    """Of what a helper's code says and what the read inside it says: the one that names spellings, or a kind."""
    if own.kind == "bool" and not own.true and not own.false and inner.kind == "bool":
        return inner
    return inner if own.kind == "unknown" else own


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
