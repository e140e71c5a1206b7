"""Functions and classes of the engine that read a variable for their caller: ``get_bool_env_var("NAME")``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from launcher.knobs.facts import Reader
from launcher.knobs.harvest.elide import body_of
from launcher.knobs.harvest.environment import with_defaults
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.frames import FunctionNode, parameters
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.names import FromParameter, evaluate_template
from launcher.knobs.harvest.source import Module, SourceTree
from launcher.knobs.harvest.truth import function_reader


class Helper(NamedTuple):
    """One such function or class."""

    name: str
    file: str
    line: int
    kind: str
    """``function``; ``class`` when making an object names the variable; ``descriptor`` when the attribute does."""
    operation: str
    """``read``, or how it is written."""
    parameter: str
    position: int
    spread: str | None
    """``args`` where every argument from `position` on is a name, ``items`` where the parameter holds several."""
    template: str
    """The variable's name, with `parameter` in it."""
    default: str | None
    """The parameter that holds the fallback of a read, or the value of a write."""
    default_position: int
    default_value: str | int | float | None
    """What that is when the caller gives none."""
    reader: Reader

    @property
    def identity(self) -> Helper:
        """The helper without its line: an edit above it does not make it another one."""
        return self._replace(line=0)

    def reader_named(self) -> Reader:
        """The reader under the helper's name, which is what a reader of the facts looks for."""
        return replace(self.reader, name=self.name)


@dataclass(slots=True)
class Helpers:
    """The helpers of a tree, by bare name."""

    by_name: dict[str, list[Helper]] = field(default_factory=dict)

    def add(self, found: Iterable[Helper]) -> set[str]:
        """Takes in `found`; the bare names that are new, or that gained a meaning."""
        new: set[str] = set()
        for helper in found:
            known = self.by_name.setdefault(helper.name, [])
            same = next((at for at, each in enumerate(known) if each.identity[:9] == helper.identity[:9]), None)
            if same is None:
                known.append(helper)
                new.add(helper.name)
            elif known[same].reader.kind in ("unknown", "presence"):
                known[same] = helper
        return new

    def all(self) -> list[Helper]:
        """Every helper."""
        return [helper for known in self.by_name.values() for helper in known]


def from_function(
    found: FromParameter, file: str, owner: ast.ClassDef | None, operation: str, default: str | None, reader: Reader
) -> Helper:
    """The helper that a function is, since its parameter decides which variable is read."""
    function = found.function
    names = parameters(function)
    static = any(source_of(each) == "staticmethod" for each in function.decorator_list)
    names = names[1:] if owner is not None and not static else names
    vararg = function.args.vararg
    is_vararg = vararg is not None and vararg.arg == found.parameter
    given = default if default in names else ("default" if "default" in names else None)
    return Helper(
        name=function.name,
        file=file,
        line=function.lineno,
        kind="function",
        operation=operation,
        parameter=found.parameter,
        position=len(function.args.args) if is_vararg else names.index(found.parameter),
        spread="args" if is_vararg else ("items" if found.each else None),
        template=found.template,
        default=given,
        default_position=names.index(given) if given else -1,
        default_value=_declared_default(function, given),
        reader=reader,
    )


def from_field(owner: ast.ClassDef, file: str, attribute: str, operation: str, reader: Reader) -> Helper | None:
    """The helper that a class is whose objects read the variable named in ``self.attribute``."""
    methods = {node.name: node for node in owner.body if isinstance(node, ast.FunctionDef)}
    for method, kind in (("__init__", "class"), ("__set_name__", "descriptor")):
        parameter = _stored_from(methods[method], attribute) if method in methods else None
        if parameter is not None:
            made = methods.get("__init__")
            names = [] if made is None else parameters(made)[1:]
            default = "default" if "default" in names else None
            return Helper(
                name=owner.name,
                file=file,
                line=owner.lineno,
                kind=kind,
                operation=operation,
                parameter=parameter,
                position=names.index(parameter) if kind == "class" else -1,
                spread=None,
                template=parameter,
                default=default,
                default_position=names.index(default) if default else -1,
                default_value=None if made is None else _declared_default(made, default),
                reader=reader,
            )
    return None


def subclasses(tree: ast.Module, helper: Helper) -> Iterator[Helper]:
    """The classes of the same file that inherit what makes `helper` one."""
    heirs = {helper.name: helper.reader}
    for node in tree.body:
        bases = [source_of(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.ClassDef) and not heirs.keys().isdisjoint(bases):
            own = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "parse"), None)
            inherited = [heirs[base] for base in bases if base in heirs]
            reader = next((each for each in inherited if each.kind != "unknown"), helper.reader)
            heirs[node.name] = reader if own is None or not body_of(own) else function_reader(node.name, own)
            yield helper._replace(name=node.name, reader=heirs[node.name])


def _stored_from(constructor: ast.FunctionDef, attribute: str) -> str | None:
    """The parameter that the constructor keeps in ``self.attribute``."""
    for node in (inner for step in body_of(constructor) for inner in ast.walk(step)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == attribute:
                    name = node.value.id
                    return name if name in parameters(constructor)[1:] else None
    return None


def _declared_default(function: FunctionNode, parameter: str | None) -> str | int | float | None:
    for name, default in with_defaults(function.args):
        if name == parameter and isinstance(default, ast.Constant):
            value = default.value
            return value if isinstance(value, str | int | float) else None
    return None


def argument_of(call: ast.Call, name: str | None, position: int) -> ast.expr | None:
    """What `call` hands over for that parameter."""
    for keyword in call.keywords:
        if keyword.arg == name and name is not None:
            return keyword.value
    if 0 <= position < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args[: position + 1]):
        return call.args[position]
    return None


def arguments_of(call: ast.Call, helper: Helper) -> list[ast.expr]:
    """The expressions in `call` that name the variable, or variables, of `helper`."""
    if helper.spread == "args":
        return call.args[helper.position :]
    argument = argument_of(call, helper.parameter, helper.position)
    return [] if argument is None else [argument]


class HelperCalls:
    """Decides which helper, if any, a call in one module means."""

    def __init__(self, source: bytes, module: Module, tree: SourceTree, helpers: Helpers) -> None:
        self._source = source
        self._module = module
        self._tree = tree
        self._helpers = helpers
        self._defined: dict[str, bool] = {}

    def of(self, function: ast.expr) -> list[Helper]:
        """What is behind the called expression: one helper, or several of a function that reads several variables."""
        bare = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        known = self._helpers.by_name.get(bare)
        if not known:
            return []
        here = [helper for helper in known if helper.file == self._module.file]
        if here or self._defines(bare):
            return here
        if isinstance(function, ast.Attribute) and "env" not in bare.lower():
            return []  # some object's method that happens to have the name
        closest = max(known, key=lambda helper: _common(helper.file, self._module.file))
        return [helper for helper in known if helper.file == closest.file]

    def name(self, helper: Helper, given: str) -> str | None:
        """The variable that `helper` makes of a caller's `given`."""
        if helper.spread or helper.template == helper.parameter:
            return given
        module = self._tree.module(self._tree.name_of(helper.file))
        if module is None:
            return None
        return evaluate_template(helper.template, helper.parameter, given, Interpreter(self._tree), module)

    def _defines(self, bare: str) -> bool:
        """Whether the file has a function or class of that name of its own, which then is what a call means."""
        if bare not in self._defined:
            self._defined[bare] = bool(re.search(rb"\b(?:def|class)\s+%b\b" % bare.encode(), self._source))
        return self._defined[bare]


def _common(left: str, right: str) -> int:
    count = 0
    for one, other in zip(left.split("/"), right.split("/"), strict=False):
        if one != other:
            break
        count += 1
    return count
