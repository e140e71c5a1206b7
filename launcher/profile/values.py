"""Values of flags, variables and secrets: text as it is written, a switch, or ``~``, which takes away."""

from __future__ import annotations

import json
import re

from launcher.profile.kinds import Kind, RefusedError
from launcher.profile.model import ArgValue, EnvValue
from launcher.profile.scalars import becomes
from launcher.profile.tree import Block, Items, Node, Scalar

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_YAML_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAKES_AWAY = "write ~ to take the value away"


def _setting(node: Scalar) -> bool | str | None:
    if not node.plain:
        return _sendable(node.text)
    match node.text:
        case "~":
            return None
        case "true" | "false":
            return node.text == "true"
        case "":
            raise RefusedError(f'nothing stands here; {_TAKES_AWAY}, or "" for empty text', "~")
    other = becomes(node.text)
    if other in {"true", "false"}:
        raise RefusedError(f"YAML 1.1 reads this as {other}; write {other}, or quote the word if it is meant", other)
    if other == "nothing":
        raise RefusedError(f"YAML reads this as nothing; {_TAKES_AWAY}, or quote the word if it is meant", "~")
    if other:
        raise RefusedError(f"YAML 1.1 reads this as {other}; quote it if the text is meant", f'"{node.text}"')
    return node.text


def _sendable(text: str) -> str:
    """Text that a process can be given: no NUL, no half of a surrogate pair."""
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise RefusedError("holds a character that no process can be given (NUL, or half of a pair)")
    return text


def _arg(node: Node) -> ArgValue:
    match node:
        case Scalar():
            return _setting(node)
        case Block():
            return _json(node)
        case Items(items):
            if not items:
                raise RefusedError("an empty list; leave the flag out, or write ~ to take it away", "~")
            return tuple(map(_item, items))


def _item(node: Node) -> str:
    if isinstance(node, Block):
        return _json(node)
    value = _setting(node) if isinstance(node, Scalar) else None
    if isinstance(value, str):
        return value
    raise RefusedError("a list holds texts: a list, a switch or ~ inside it has no meaning; quote the word")


def _env(node: Node) -> EnvValue:
    if isinstance(node, Scalar):
        return _setting(node)
    raise RefusedError("a variable is one text; write a list or JSON as quoted text")


def _secret(node: Node) -> str | None:
    value = _setting(node) if isinstance(node, Scalar) else False
    if value is None or (isinstance(value, str) and re.fullmatch(r"/[^\0\n]*[^/\0\n]", value)):
        return value or None
    raise RefusedError(
        "a secret is named by the file that holds it, with its whole path; the value itself never stands here",
        "/etc/pdlaunch/secrets/NAME",
    )


def _plain(node: Node) -> str:
    """Text where any word is one: a value to compare with, such as ``512`` or ``true``."""
    if isinstance(node, Scalar) and node.text:
        return node.text
    raise RefusedError("one value is meant")


def _json(node: Node) -> str:
    """The node as compact JSON, numbers and order as written."""
    match node:
        case Block(entries):
            return "{" + ",".join(f"{_quoted(e.key)}:{_json(e.value)}" for e in entries) + "}"
        case Items(items):
            return "[" + ",".join(map(_json, items)) + "]"
        case Scalar(text, plain):
            return _json_scalar(text) if plain else _quoted(text)


def _json_scalar(text: str) -> str:
    if text in {"true", "false"}:
        return text
    if text in {"~", "null"}:
        return "null"
    if other := becomes(text):
        raise RefusedError(f"YAML 1.1 reads {text or 'nothing'} as {other}; quote it if the text is meant")
    if _YAML_NUMBER.fullmatch(text):
        # YAML 1.1 takes 1e3 for text and 1.2 for a number; JSON has no .5, 5. or +5.
        if _JSON_NUMBER.fullmatch(text) and not re.fullmatch(r"-?[0-9]+[eE].*", text):
            return text
        raise RefusedError(f"{text} is no number that YAML and JSON agree on; write it in full, or quote it")
    return _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(_sendable(text), ensure_ascii=False)


_SCALAR = {"type": ["string", "number", "boolean", "null"]}
ARG = Kind(
    _arg,
    {
        "anyOf": [
            _SCALAR,
            {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "object"]}},
            {"type": "object"},
        ]
    },
)
ENV = Kind(_env, _SCALAR)
SECRET = Kind(_secret, {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^/"}]})
WORD = Kind(_plain, {"type": ["string", "number", "boolean"]})
