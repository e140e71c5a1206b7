"""The variables that an engine declares: ``NAME = EnvBool(default)`` in the class ``Envs`` of its environ.py."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from launcher.knobs.facts import EnvKnob, Reader, Unevaluated, Value
from launcher.knobs.harvest.deprecations import deprecations
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.source import Module, SourceTree
from launcher.knobs.harvest.truth import function_reader
from launcher.knobs.harvest.values import Function, Scope, UnknowableError, plain

_RULE = re.compile(r"#\s*[=\-]{10,}\s*$")


def registry(tree: SourceTree, module: Module) -> dict[str, EnvKnob]:
    """Every declared variable of the registry in `module`, deprecated names included."""
    knobs = _declared(tree, module)
    for knob in list(knobs.values()):
        for old in knob.aliases:
            replaced = EnvKnob(old, knob.kind, reader=knob.reader, replaced_by=knob.name, deprecated="")
            knobs.setdefault(old, replace(replaced, deprecated_at=knob.declared))
    for old, found in deprecations(tree, module).items():
        knob = knobs.get(old) or EnvKnob(old, "unknown")
        note = f"{found.note} (its value through {found.transform})".strip() if found.transform else found.note
        replaced_by = found.replacement or knob.replaced_by
        knobs[old] = replace(knob, deprecated=note, deprecated_at=found.place, replaced_by=replaced_by)
        target = knobs.get(found.replacement or "")
        if target is not None and old not in target.aliases:
            knobs[target.name] = replace(target, aliases=(*target.aliases, old))
    return knobs


def _declared(tree: SourceTree, module: Module) -> dict[str, EnvKnob]:
    owner = next((node for node in module.about("Envs") if isinstance(node, ast.ClassDef)), None)
    if owner is None:
        return {}
    lines = (tree.root / module.file).read_text("utf-8-sig", errors="replace").splitlines()
    readers = _Readers(module)
    interpreter = Interpreter(tree)
    knobs: dict[str, EnvKnob] = {}
    pending: list[tuple[str, ast.expr, Function]] = []
    section, previous = None, owner.lineno
    for node in owner.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0]
        reader = readers.of(source_of(node.value.func))
        if not isinstance(target, ast.Name) or reader is None:
            continue
        above = lines[previous : node.lineno - 1]
        section = _section(above) or section
        arguments = _bound(node.value)
        default = arguments.get("default", ast.Constant(None))
        old = arguments.get("deprecated_name")
        secret = arguments.get("secret")
        knobs[target.id] = EnvKnob(
            target.id,
            reader.kind,
            default=_value(interpreter, default, module, target.id, pending),
            reader=reader,
            declared=module.place(node),
            secret=isinstance(secret, ast.Constant) and secret.value is True,
            section=section,
            comment=_comment(above, lines[node.lineno - 1 : node.end_lineno]),
            aliases=(old.value,) if isinstance(old, ast.Constant) and isinstance(old.value, str) else (),
        )
        previous = node.end_lineno or node.lineno
    return _with_computed_defaults(tree, knobs, pending)


class _Readers:
    """The reader behind each field class of the registry."""

    def __init__(self, module: Module) -> None:
        self._classes = {node.name: node for node in module.tree.body if isinstance(node, ast.ClassDef)}
        self._known: dict[str, Reader | None] = {}

    def of(self, name: str) -> Reader | None:
        """The reader of that class; None where it is no field class."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Reader | None:
        line = self._ancestry(name)
        if not any(each.name == "EnvField" for each in line):
            return None
        for each in line:
            for node in each.body:
                if isinstance(node, ast.FunctionDef) and node.name == "parse" and each.name != "EnvField":
                    reader = function_reader(each.name, node)
                    # EnvField.get turns a parse error into the default, with one warning.
                    return replace(reader, otherwise="default" if reader.otherwise == "error" else reader.otherwise)
        return Reader(name, "unknown")

    def _ancestry(self, name: str) -> list[ast.ClassDef]:
        found: list[ast.ClassDef] = []
        queue = [name]
        while queue:
            node = self._classes.get(queue.pop(0))
            if node is not None and node not in found:
                found.append(node)
                queue += [source_of(base) for base in node.bases]
        return found


def _bound(call: ast.Call) -> dict[str, ast.expr]:
    found = dict(zip(("default", "deprecated_name"), call.args, strict=False))
    return found | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}


def _value(
    interpreter: Interpreter,
    node: ast.expr,
    module: Module,
    name: str,
    pending: list[tuple[str, ast.expr, Function]],
) -> Value:
    try:
        found = interpreter.value(node, Scope(module))
    except UnknowableError:
        return Unevaluated(source_of(node))
    if isinstance(found, Function):
        pending.append((name, node, found))
        return Unevaluated(source_of(node))
    return plain(found)


def _with_computed_defaults(
    tree: SourceTree, knobs: dict[str, EnvKnob], pending: list[tuple[str, ast.expr, Function]]
) -> dict[str, EnvKnob]:
    """The defaults that are functions, called at each read, as far as the other defaults decide them."""
    interpreter = Interpreter(tree, {name: knob.default for name, knob in knobs.items()})
    for name, node, function in pending:
        interpreter.assumed.clear()
        try:
            value = plain(interpreter.invoke(function, [], {}))
        except UnknowableError:
            value = Unevaluated(source_of(node))
        depends_on = () if isinstance(value, Unevaluated) else tuple(sorted(interpreter.assumed))
        knobs[name] = replace(knobs[name], default=value, depends_on=depends_on)
    return knobs


def _section(above: list[str]) -> str | None:
    """The title between two rules, as the registry writes its sections."""
    stripped = [line.strip() for line in above]
    for first, title, last in zip(stripped, stripped[1:], stripped[2:], strict=False):
        if _RULE.match(first) and _RULE.match(last) and title.startswith("#"):
            return title.lstrip("# ").strip()
    return None


def _comment(above: list[str], own: list[str]) -> str:
    """The comment lines directly above a declaration, without section titles, and the ones on its own lines."""
    block: list[str] = []
    for line in reversed(above):
        text = line.strip()
        if not text.startswith("#") or _RULE.match(text):
            break
        block.insert(0, text.lstrip("#").strip())
    trailing = [line.split("  #", 1)[1].strip() for line in own if "  #" in line]
    return "\n".join([*block, *trailing])
