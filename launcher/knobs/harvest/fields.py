"""Flags declared as annotated fields: ``name: A[TYPE, Arg(help=…)] = default``.

The rules are those of SGLang's ``add_cli_args_from_dataclass`` (srt/arg_groups/arg_utils.py, 0.5.23).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from launcher.knobs.harvest.arguments import Argument
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.values import Class, Function, Opaque, Scope, Symbol, UnknowableError

_NO_DEFAULT = object()
_SCALARS = frozenset({"str", "int", "float"})


@dataclass(slots=True)
class Field:
    """One annotated field of a record class."""

    name: str
    kind: ast.expr
    """The type, without ``A[…]`` around it."""
    arg: dict[str, object] | None
    """The keywords of its ``Arg``; None where the field carries none and so is no flag."""
    default: object
    owner: Class
    node: ast.AnnAssign
    assumed: tuple[str, ...] = field(default=())

    @property
    def has_default(self) -> bool:
        """Whether the declaration gives one, known or not."""
        return self.default is not _NO_DEFAULT


def fields(interpreter: Interpreter, owner: Class) -> Iterator[Field]:
    """The annotated fields of a record class, in order."""
    scope = Scope(owner.module)
    for node in owner.node.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        annotation = _parsed(node.annotation)
        if "ClassVar" in source_of(annotation)[:20]:
            continue
        interpreter.assumed.clear()
        kind, arg = _unwrapped(interpreter, annotation, scope)
        default = _default(interpreter, node.value, scope)
        yield Field(node.target.id, kind, arg, default, owner, node, tuple(sorted(interpreter.assumed)))


def argument(interpreter: Interpreter, declared: Field) -> Argument | None:
    """The ``add_argument`` that a field stands for; None where it is no flag."""
    if declared.arg is None or declared.arg.get("no_cli") is True:
        return None
    arg = declared.arg
    name = declared.name
    cli_name = arg["cli_name"] if isinstance(arg.get("cli_name"), str) else "--" + name.replace("_", "-")
    aliases = arg.get("aliases")
    options = (str(cli_name), *map(str, aliases if isinstance(aliases, list | tuple) else ()))
    keywords = {"help": arg.get("help", ""), "dest": name}
    if declared.has_default:
        keywords["default"] = declared.default
    keywords |= _by_type(interpreter, declared, arg)
    return Argument(options, keywords, declared.owner.module.place(declared.node), assumed=declared.assumed)


def _by_type(interpreter: Interpreter, declared: Field, arg: dict[str, object]) -> dict[str, object]:
    """The keywords that follow from action and type, in the engine's own order of precedence."""
    if arg.get("action") is not None:
        extra = arg.get("action_kwargs")
        return {"action": arg["action"], **(extra if isinstance(extra, dict) else {})}
    scope = Scope(declared.owner.module)
    kind = _without_none(interpreter, declared.kind, scope)
    given = {key: arg[key] for key in ("choices", "const") if arg.get(key) is not None}
    parser = arg.get("type_parser")
    literals = _literals(interpreter, kind, scope)
    if literals is not None:
        inferred = Symbol(type(literals[0]).__name__ if type(literals[0]).__name__ in _SCALARS else "str")
        return {"type": parser or inferred, "choices": literals, **given}
    head, inner = _subscripted(kind)
    if head in ("List", "list") and parser is None:
        return {"type": _scalar(inner), "nargs": arg.get("nargs") or "+", **given}
    if source_of(kind) == "bool":
        return {"action": "store_true"}
    required = arg.get("required") is True or (arg.get("required") is None and not declared.has_default)
    nargs = {"nargs": arg["nargs"]} if arg.get("nargs") else {}
    return {"type": parser or _scalar(kind), **nargs, **given, **({"required": True} if required else {})}


def _scalar(kind: ast.expr | None) -> Symbol:
    name = source_of(kind) if kind is not None else "str"
    return Symbol(name if name in _SCALARS else "str")


def _parsed(annotation: ast.expr) -> ast.expr:
    """A quoted annotation as the expression it holds."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return annotation
    return annotation


def _subscripted(node: ast.expr) -> tuple[str, ast.expr | None]:
    if isinstance(node, ast.Subscript):
        return source_of(node.value).rpartition(".")[2], node.slice
    return source_of(node).rpartition(".")[2], None


def _unwrapped(
    interpreter: Interpreter, annotation: ast.expr, scope: Scope
) -> tuple[ast.expr, dict[str, object] | None]:
    """The type inside ``A[…]`` and the keywords of the ``Arg`` beside it; a bare text is its help."""
    head, inner = _subscripted(annotation)
    if head not in ("A", "Annotated") or not isinstance(inner, ast.Tuple):
        return annotation, None
    kind, *metadata = inner.elts
    for node in metadata:
        if isinstance(node, ast.Call) and source_of(node.func).rpartition(".")[2] == "Arg":
            return kind, _arg_keywords(interpreter, node, scope)
        text = interpreter.value_or_opaque(node, scope)
        if isinstance(text, str):
            return kind, {"help": text}
    return kind, None


def _arg_keywords(interpreter: Interpreter, node: ast.Call, scope: Scope) -> dict[str, object]:
    found: dict[str, object] = {}
    if node.args:
        found["help"] = interpreter.value_or_opaque(node.args[0], scope)
    for keyword in node.keywords:
        if keyword.arg is not None:
            found[keyword.arg] = interpreter.value_or_opaque(keyword.value, scope)
    return found


def _default(interpreter: Interpreter, node: ast.expr | None, scope: Scope) -> object:
    """The default that instances get, ``field(default_factory=…)`` included."""
    if node is None:
        return _NO_DEFAULT
    if isinstance(node, ast.Call) and source_of(node.func).rpartition(".")[2] == "field":
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "default" in given:
            return interpreter.value_or_opaque(given["default"], scope)
        if "default_factory" in given:
            return _made(interpreter, given["default_factory"], scope)
        return _NO_DEFAULT
    return interpreter.value_or_opaque(node, scope)


def _made(interpreter: Interpreter, factory: ast.expr, scope: Scope) -> object:
    made = ast.fix_missing_locations(ast.copy_location(ast.Call(factory, [], []), factory))
    try:
        function = interpreter.value(factory, scope)
        if isinstance(function, Function):
            return interpreter.invoke(function, [], {})
        return interpreter.value(made, scope)
    except UnknowableError as error:
        return Opaque(error.source)


def _without_none(interpreter: Interpreter, kind: ast.expr, scope: Scope) -> ast.expr:
    """``Optional[X]``, ``Union[X, None]`` and ``X | None`` as X; a name for a type as the type."""
    kind = _named(kind, scope)
    head, inner = _subscripted(kind)
    if head == "Optional" and inner is not None:
        return _without_none(interpreter, inner, scope)
    if head == "Union" and isinstance(inner, ast.Tuple):
        parts = inner.elts
    elif isinstance(kind, ast.BinOp) and isinstance(kind.op, ast.BitOr):
        parts = [kind.left, kind.right]
    else:
        return kind
    rest = [part for part in parts if source_of(part) != "None"]
    return _without_none(interpreter, rest[0], scope) if len(rest) == 1 and len(parts) > 1 else kind


def _named(kind: ast.expr, scope: Scope) -> ast.expr:
    if isinstance(kind, ast.Name):
        for statement in scope.module.about(kind.id):
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Subscript):
                return statement.value
    return kind


def _literals(interpreter: Interpreter, kind: ast.expr, scope: Scope) -> list[object] | None:
    head, inner = _subscripted(kind)
    if head != "Literal" or inner is None:
        return None
    nodes = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    return [interpreter.value_or_opaque(node, scope) for node in nodes]
