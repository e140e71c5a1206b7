"""Turns what the engine hands to ``add_argument`` into a flag, by argparse's own rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launcher.knobs.facts import Flag, Place, Unevaluated, Value
from launcher.knobs.harvest.expressions import source_of
from launcher.knobs.harvest.values import Class, Symbol, plain

_SWITCHES: Mapping[str, tuple[Value, Value]] = {"store_true": (False, True), "store_false": (True, False)}
_NO_VALUE = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "help", "version"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One ``add_argument`` as it would be called: option strings, and keywords as far as they are known."""

    options: tuple[str, ...]
    keywords: Mapping[str, object]
    place: Place
    group: str | None = None
    when: str | None = None
    assumed: tuple[str, ...] = ()


def flag(argument: Argument, field_names: frozenset[str] = frozenset()) -> Flag | None:
    """The flag that `argument` declares; None for a positional one.

    `field_names` are the names of the engine's own fields: among several spellings the one that equals a field is the
    flag's name.
    """
    long = tuple(option.removeprefix("--") for option in argument.options if option.startswith("--"))
    short = tuple(option for option in argument.options if option.startswith("-") and not option.startswith("--"))
    if not long:
        return None
    keywords = dict(argument.keywords)
    action_value = keywords.get("action")
    action = _action_name(action_value)
    if isinstance(action_value, Class):
        keywords = {**_class_defaults(action_value), **keywords}
    dest = plain(keywords.get("dest"))
    dest = dest if isinstance(dest, str) else long[0].replace("-", "_")
    negations = tuple(f"no-{option}" for option in long) if action == "BooleanOptionalAction" else ()
    default_of_switch, const_of_switch = _SWITCHES.get(action, (None, None))
    help_text = plain(keywords.get("help", ""))
    deprecated, replaced_by, refused = _deprecation(action, keywords, help_text)
    return Flag(
        name=_name(long, dest, field_names),
        options=long,
        dest=dest,
        type=_type_name(action, action_value, keywords),
        default=plain(keywords.get("default", default_of_switch)),
        choices=_choices(keywords.get("choices")),
        nargs=_nargs(action, keywords),
        const=plain(keywords.get("const", const_of_switch)),
        action=action,
        required=keywords.get("required") is True,
        help=help_text if isinstance(help_text, str | Unevaluated) else "",
        group=argument.group,
        negations=negations,
        short=short,
        deprecated=deprecated,
        replaced_by=replaced_by,
        refused=refused,
        when=argument.when,
        depends_on=argument.assumed,
        declared=argument.place,
    )


def _name(long: Sequence[str], dest: str, field_names: frozenset[str]) -> str:
    for option in long:
        if option.replace("-", "_") in field_names:
            return option
    dashed = dest.replace("_", "-")
    return dashed if dashed in long else long[0]


def _action_name(action: object) -> str:
    match action:
        case None:
            return "store"
        case str():
            return action
        case Symbol(name=name) | Class(name=name):
            return name.rpartition(".")[2]
        case _:
            return str(plain(action))


def _class_defaults(action: Class) -> dict[str, object]:
    """What an action class of the engine fills in for a caller that leaves it out: its constructor's defaults."""
    for statement in action.node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            arguments = statement.args
            pairs = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
            found = {name.arg: default.value for name, default in pairs if isinstance(default, ast.Constant)}
            return {name: value for name, value in found.items() if name in ("nargs", "const", "default", "type")}
    return {}


def _type_name(action: str, action_value: object, keywords: Mapping[str, object]) -> str:
    switch = isinstance(action_value, Class) and keywords.get("nargs") == 0
    if switch or action in ("store_true", "store_false", "BooleanOptionalAction"):
        return "bool"
    kind = keywords.get("type")
    if kind is None:
        return "str"
    found = plain(kind)
    return str(found.source if isinstance(found, Unevaluated) else found).removeprefix("builtins.")


def _choices(choices: object) -> tuple[Value, ...] | Unevaluated | None:
    if choices is None:
        return None
    found = plain(choices)
    if isinstance(found, tuple | Unevaluated):
        return found
    return tuple(found) if isinstance(found, Mapping) else Unevaluated(str(found))


def _nargs(action: str, keywords: Mapping[str, object]) -> int | str | None:
    if action in _NO_VALUE or action == "BooleanOptionalAction":
        return 0
    nargs = keywords.get("nargs")
    return nargs if isinstance(nargs, int | str) else None


def _deprecation(action: str, keywords: Mapping[str, object], help_text: Value) -> tuple[str | None, str | None, bool]:
    """The engine's words about a flag that it retires: that it does, what to write instead, whether it refuses it."""
    error, new_flag = plain(keywords.get("error_message")), plain(keywords.get("new_flag"))
    text = help_text if isinstance(help_text, str) else ""
    stated = re.match(r"\W*(?:note:\s*)?(?:--\S+ is )?deprecated\b", text, re.IGNORECASE)
    if not action.startswith("Deprecated") and not stated and keywords.get("deprecated") is not True:
        return None, None, False
    refused = action == "DeprecatedAction" and isinstance(error, str)
    words = error if isinstance(error, str) else text
    if isinstance(new_flag, str):
        return words, new_flag, refused
    named = re.search(r"(?:use|pass|prefer|replaced by)\W+(--[\w-]+(?:=[\w{},<>-]+)?)", words, re.IGNORECASE)
    return words, named.group(1) if named else None, refused


def argument_source(node: ast.Call) -> str:
    """The call as text, cut to a line, for a note."""
    text = source_of(node)
    return text if len(text) <= 100 else f"{text[:97]}..."
