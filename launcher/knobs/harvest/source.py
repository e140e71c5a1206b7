"""The source of an engine as a tree of modules, each parsed when first asked for."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.knobs.facts import Note, Place

_MUTATORS = frozenset({"add", "append", "discard", "extend", "insert", "pop", "remove", "setdefault", "update"})


def parse(source: bytes, file: str) -> ast.Module | Note:
    """The syntax tree of `source`, or a note saying why there is none. A BOM and a coding line are understood."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an engine's stray escape is no business of the operator's
            return ast.parse(source)
    except SyntaxError as error:
        return Note(Place(file, error.lineno or 1), f"not Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Note(Place(file, 1), f"not Python: {error}")


class Module:
    """One parsed file and what its top level says about each name."""

    def __init__(self, name: str, file: str, tree: ast.Module, *, is_package: bool = False) -> None:
        self.name = name
        self.file = file
        self.tree = tree
        self.package = name if is_package else name.rpartition(".")[0]
        self._about: dict[str, list[ast.stmt]] | None = None

    def about(self, name: str) -> list[ast.stmt]:
        """The top-level statements that bind or change `name`, in order."""
        if self._about is None:
            self._about = {}
            for statement in self.tree.body:
                for bound in dict.fromkeys(bound_names(statement)):
                    self._about.setdefault(bound, []).append(statement)
        return self._about.get(name, [])

    def absolute(self, node: ast.ImportFrom) -> str:
        """The dotted name of the module that a ``from … import`` reads, relative ones resolved."""
        if not node.level:
            return node.module or ""
        base = self.package.split(".")
        base = base[: len(base) - (node.level - 1)]
        return ".".join([*base, *([node.module] if node.module else [])])

    def place(self, node: ast.AST) -> Place:
        """Where `node` stands."""
        return Place(self.file, getattr(node, "lineno", 1))


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or changes in place, in the scope in which it stands."""
    match statement:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _target_names(target)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from _target_names(target)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            for alias in names:
                yield alias.asname or alias.name.split(".")[0]
        case ast.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute))):
            if attribute in _MUTATORS:
                yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case _:
            yield from bound_by_head(statement)
            yield from (name for block in _blocks(statement) for inner in block for name in bound_names(inner))


def bound_by_head(statement: ast.stmt) -> Iterator[str]:
    """The names that a block binds besides those that the statements in it do."""
    match statement:
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _target_names(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield from _target_names(item.optional_vars)
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
            yield from (handler.name for handler in handlers if handler.name is not None)
        case ast.Match(cases=cases):
            for inner in (node for case in cases for node in ast.walk(case.pattern)):
                name = getattr(inner, "name", None) or getattr(inner, "rest", None)
                if name is not None:
                    yield name


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a block: its own, and those of ``else``, ``except``, ``finally`` and ``case``."""
    for part in ("body", "orelse", "finalbody"):
        yield getattr(statement, part, [])
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield inner.body


def _target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _target_names(element)
        case ast.Starred(value=value):
            yield from _target_names(value)
        case ast.Subscript(value=ast.Name(id=name)):
            yield name


class SourceTree:
    """An engine package on disk: modules by dotted name, and a record of every file that was asked for."""

    def __init__(self, root: Path, *, name: str) -> None:
        self.root = root
        self.package = name
        self.notes: list[Note] = []
        self.asked: dict[str, None] = {}
        """Relative paths that were looked for, present or not: what the answers depend on."""
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """The module of that dotted name, or None where the tree has none that parses."""
        self.asked |= dict.fromkeys(self._files(name))
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    @contextmanager
    def asking(self) -> Iterator[dict[str, None]]:
        """The files that are asked for inside the block, and only there."""
        before, self.asked = self.asked, {}
        try:
            yield self.asked
        finally:
            self.asked = before | self.asked

    def has(self, name: str) -> bool:
        """Whether the tree holds a module of that dotted name, readable or not."""
        self.asked |= dict.fromkeys(self._files(name))
        return any((self.root / file).is_file() for file in self._files(name))

    def is_folder(self, name: str) -> bool:
        """Whether the tree holds a folder of that dotted name, which Python takes for a package as well."""
        head, _, rest = name.partition(".")
        return head == self.package and (self.root / rest.replace(".", "/")).is_dir()

    def name_of(self, file: str) -> str:
        """The dotted name of the module in `file`."""
        parts = [self.package, *file.removesuffix(".py").split("/")]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _files(self, name: str) -> tuple[str, ...]:
        head, *rest = name.split(".")
        if head != self.package:
            return ()
        stem = "/".join(rest)
        return (f"{stem}.py", f"{stem}/__init__.py") if rest else ("__init__.py",)

    def _load(self, name: str) -> Module | None:
        for file in self._files(name):
            path = self.root / file
            if path.is_file():
                return self._parse(name, file, path)
        return None

    def _parse(self, name: str, file: str, path: Path) -> Module | None:
        try:
            source = path.read_bytes()
        except OSError as error:
            self.notes.append(Note(Place(file, 1), f"cannot be read: {error.strerror}"))
            return None
        tree = parse(source, file)
        if isinstance(tree, Note):
            self.notes.append(tree)
            return None
        return Module(name, file, tree, is_package=path.name == "__init__.py")
