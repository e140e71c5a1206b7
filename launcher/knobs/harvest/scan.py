"""Reads one file for its uses of the environment: what it reads, what it sets, and which helpers it defines."""

from __future__ import annotations

import ast

from launcher.knobs.facts import Note, Reader, Value
from launcher.knobs.harvest.elide import ElidedError, elided
from launcher.knobs.harvest.environment import ENVIRONMENT_WORDS, Spellings, lines_with
from launcher.knobs.harvest.helpers import Helper, HelperCalls, Helpers, argument_of, arguments_of
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.names import FromParameter, Known, pattern
from launcher.knobs.harvest.reading import later_use, reader_at
from launcher.knobs.harvest.source import Module, SourceTree, parse
from launcher.knobs.harvest.uses import Recorder, Uses
from launcher.knobs.harvest.walk import Spot, Walk

_REGISTRY = Reader("registry", "unknown")
_REGISTRY_WRITES = {"set": "set", "override": "override", "clear": "clear"}
_HARMLESS = frozenset({"dict", "copy", "deepcopy", "len", "list", "sorted", "print", "isinstance", "id", "type"})


def scan(source: bytes, file: str, tree: SourceTree, helpers: Helpers, *, everything: bool = False) -> Uses | Note:
    """The uses in one file, or a note saying why it cannot be read.

    With `everything`, the whole file is parsed and every line looked at: the same answer, several times as slow.
    """
    with tree.asking() as asked:
        found = _scan(source, file, tree, helpers, everything=everything)
    if isinstance(found, Uses):
        found.depends = tuple(sorted(asked.keys() - {file}))
    return found


def _scan(source: bytes, file: str, tree: SourceTree, helpers: Helpers, *, everything: bool) -> Uses | Note:
    if not everything:
        try:
            return _scan_lines_of_interest(source, file, tree, helpers)
        except ElidedError:
            pass
    parsed = parse(source, file)
    if isinstance(parsed, Note):
        return parsed
    module = Module(tree.name_of(file), file, parsed, is_package=file.endswith("__init__.py"))
    known = Spellings(module, tree)
    Walk(None, known.note).statements(parsed)
    lines = None if everything else lines_with(source, known.words() | set(helpers.by_name))
    return _uses(source, module, known, helpers, lines)


def _scan_lines_of_interest(source: bytes, file: str, tree: SourceTree, helpers: Helpers) -> Uses:
    """The uses, from the parts of the file in which there can be some. Raises ElidedError where these do not do."""
    words = {*ENVIRONMENT_WORDS, *helpers.by_name}
    while True:
        lines = lines_with(source, words)
        shorter = elided(source, lines)
        parsed = None if shorter is None else parse(shorter, file)
        if parsed is None or isinstance(parsed, Note):
            raise ElidedError(file)
        module = Module(tree.name_of(file), file, parsed, is_package=file.endswith("__init__.py"))
        known = Spellings(module, tree)
        Walk(lines, known.note).statements(parsed)
        # What else the environment is called in this file makes more lines of interest.
        if known.words() <= words:
            return _uses(source, module, known, helpers, lines)
        words |= known.words()


def _uses(source: bytes, module: Module, known: Spellings, helpers: Helpers, lines: set[int] | None) -> Uses:
    scanner = _Scanner(source, module, known, helpers)
    for spot in Walk(lines, lambda _statement, _frame: None).module(module.tree):
        scanner.look_at(spot)
    return scanner.recorder.uses


class _Scanner:
    def __init__(self, source: bytes, module: Module, known: Spellings, helpers: Helpers) -> None:
        self.recorder = Recorder(module, Interpreter(known.tree), known)
        self._module = module
        self._known = known
        self._helpers = HelperCalls(source, module, known.tree, helpers)

    def look_at(self, spot: Spot) -> None:
        """Takes in one expression, if it uses the environment."""
        match spot.node:
            case ast.Subscript(value=value) as node if self._known.is_environ(value, spot.frame):
                self._subscript(spot, node)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
                if self._known.is_environ(right, spot.frame):
                    self.recorder.read(spot, left, Reader("os.environ", "presence"))
            case ast.Call() as node:
                self._call(spot, node)
            case ast.Attribute(value=owner, attr=name) if name.isupper() and self._known.is_registry(owner):
                self._registry(spot, name)
            case ast.Name() | ast.Attribute() if self._known.is_environ(spot.node, spot.frame):
                self._whole(spot)

    def _subscript(self, spot: Spot, node: ast.Subscript) -> None:
        match node.ctx:
            case ast.Load():
                self.recorder.read(spot, node.slice, self._reader(spot, "os.environ"))
            case ast.Del():
                self.recorder.write(spot, node.slice, None, "clear")
            case _:
                statement = spot.parents[0]
                value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
                self.recorder.write(spot, node.slice, value, "set")

    def _call(self, spot: Spot, call: ast.Call) -> None:
        function = call.func
        if isinstance(function, ast.Attribute) and self._known.is_environ(function.value, spot.frame):
            self._mapping_method(spot, call, function.attr)
            return
        outside = self._known.function(function)
        if outside and call.args:
            if outside == "getenv":
                self.recorder.read(spot, call.args[0], self._reader(spot, "os.getenv"), _second(call))
            else:
                self.recorder.write(spot, call.args[0], _second(call), "set" if outside == "putenv" else "clear")
            return
        if isinstance(function, ast.Name) and function.id == "getattr" and len(call.args) > 1:
            if self._known.is_registry(call.args[0]):
                self.recorder.read(spot, call.args[1], _REGISTRY)
            return
        for helper in self._helpers.of(function):
            self._helper_call(spot, call, helper)

    def _mapping_method(self, spot: Spot, call: ast.Call, method: str) -> None:
        if method == "update":
            self._update(spot, call)
        elif method in ("items", "keys", "values"):
            self._whole(spot)
        elif call.args:
            first, second = call.args[0], _second(call)
            if method in ("get", "pop", "__getitem__"):
                self.recorder.read(spot, first, self._reader(spot, "os.environ"), second)
            if method in ("pop", "__delitem__"):
                self.recorder.write(spot, first, None, "clear")
            if method in ("setdefault", "__setitem__"):
                self.recorder.write(spot, first, second, "default" if method == "setdefault" else "set")

    def _update(self, spot: Spot, call: ast.Call) -> None:
        for keyword in call.keywords:
            if keyword.arg is not None:
                self.recorder.write(spot, ast.Constant(keyword.arg), keyword.value, "set")
        for argument in call.args:
            if not isinstance(argument, ast.Dict) or None in argument.keys:
                self.recorder.dynamic(spot, None)
                continue
            for key, value in zip(argument.keys, argument.values, strict=True):
                if key is not None:
                    self.recorder.write(spot, key, value, "set")

    def _registry(self, spot: Spot, name: str) -> None:
        """``envs.NAME`` with what follows it; a bare one is handed on to something that may read it."""
        outer, call = (*spot.parents, None, None)[:2]
        operation = outer.attr if isinstance(outer, ast.Attribute) else "get"
        if operation in _REGISTRY_WRITES:
            value = call.args[0] if isinstance(call, ast.Call) and call.args else None
            self.recorder.write(spot, ast.Constant(name), value, _REGISTRY_WRITES[operation])
        elif operation != "name":
            self.recorder.keep_read(spot, name, _REGISTRY, None)

    def _whole(self, spot: Spot) -> None:
        """The environment as a whole: walked through, or handed to a function that may read any of it."""
        inner: ast.AST = spot.node
        for at, outer in enumerate(spot.parents):
            match outer:
                case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple")):
                    inner = outer
                    continue
                case ast.For(iter=walked) | ast.AsyncFor(iter=walked) if walked is inner:
                    self.recorder.dynamic(spot, _tested_prefix(outer))
                case ast.comprehension(iter=walked) if walked is inner:
                    self.recorder.dynamic(spot, _tested_prefix(spot.parents[at + 1]))
                case ast.Call(func=function, args=given) if inner in given and not _is_harmless(function):
                    self.recorder.dynamic(spot, None)
            return

    def _helper_call(self, spot: Spot, call: ast.Call, helper: Helper) -> None:
        if helper.kind == "descriptor":
            self._descriptor(spot, call, helper)
            return
        given = argument_of(call, helper.default, helper.default_position)
        for argument in arguments_of(call, helper):
            found = self.recorder.names.resolve_each(argument, spot.frame, spread=helper.spread)
            if isinstance(found, Known):
                self.recorder.uses.called.add(helper)
                value = helper.default_value if given is None else self.recorder.value(given, spot.frame)
                for name in found.names:
                    self._helped(spot, helper, self._helpers.name(helper, name), value)
            elif isinstance(found, FromParameter) and (helper.spread or helper.template == helper.parameter):
                self.recorder.uses.called.add(helper)
                self.recorder.hand_on(spot, found, argument, helper.operation, helper.reader, given)
            else:
                self.recorder.dynamic(spot, pattern(argument))

    def _helped(self, spot: Spot, helper: Helper, name: str | None, value: Value) -> None:
        if name is None:
            self.recorder.dynamic(spot, None)
        elif helper.operation == "read":
            self.recorder.keep_read(spot, name, helper.reader_named(), value)
        else:
            self.recorder.keep_write(spot, name, value, helper.operation)

    def _descriptor(self, spot: Spot, call: ast.Call, helper: Helper) -> None:
        """``NAME = EnvBool(…)`` in a class body; in the registry itself that is a declaration and no read."""
        statement = spot.parents[0] if spot.parents else None
        if not isinstance(statement, ast.Assign) or not isinstance(spot.frame.node, ast.ClassDef):
            return
        self.recorder.uses.called.add(helper)
        if self._module.file != helper.file:
            given = argument_of(call, helper.default, helper.default_position)
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    value = self.recorder.value(given, spot.frame)
                    self.recorder.keep_read(spot, target.id, helper.reader_named(), value)

    def _reader(self, spot: Spot, via: str) -> Reader:
        """What is made of the text, on the spot or after it was put into a local."""
        found = reader_at(spot.node, spot.parents, via)
        function = next(spot.frame.functions(), None)
        match spot.parents:
            case [ast.Assign(targets=[ast.Name(id=name)]), *_] if function is not None and found.kind == "unknown":
                return later_use(name, function, via)
        return found


def _is_harmless(function: ast.expr) -> bool:
    """Whether the function only copies or counts what it is handed."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _HARMLESS


def _second(call: ast.Call) -> ast.expr | None:
    if len(call.args) > 1:
        return call.args[1]
    return next((each.value for each in call.keywords if each.arg == "default"), None)


def _tested_prefix(loop: ast.AST) -> str | None:
    """``SGL_*`` for a loop over the environment that asks each name for a prefix."""
    for node in ast.walk(loop):
        match node:
            case ast.Call(func=ast.Attribute(attr="startswith"), args=[ast.Constant(value=str() as prefix), *_]):
                return f"{prefix}*"
    return None
