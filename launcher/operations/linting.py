"""`knobs lint`: blocks of flags and variables, read from a JSON file, against one engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from launcher.errors import InputError
from launcher.knobs.catalogue import catalogue
from launcher.operations.engine_trees import knobs_at
from launcher.profile import ArgValue
from launcher.rules.linting import Block, Linted, Linter
from launcher.store import cache_dir

_FORM = 'write a JSON list of {"id": "...", "role": "decode", "env": {}, "args": {}}'


def lint_file(file: Path, engine: str) -> tuple[Linted, ...]:
    """Every block of the file, judged in its order; `engine` is a registered name or a path.

    Raises InputError where the file is not a list of blocks, saying which block is wrong, and where there is no engine.
    """
    blocks = read_blocks(file)
    knobs = knobs_at(engine)
    if knobs.engine == "simulator":
        raise InputError(
            "the simulator takes any flag, so there is nothing to judge", hint="name an SGLang: --engine PATH"
        )
    linter = Linter(knobs, catalogue(cache_dir() / "knobs"))
    return tuple(map(linter.lint, blocks))


def read_blocks(file: Path) -> tuple[Block, ...]:
    """The blocks of a JSON list of ``{id, role, env, args}``; other keys are passed over.

    Numbers become the text that they are written as, mappings JSON. Raises InputError for anything else.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", hint=f"ls -ld {file}") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{file}:{error.lineno} is not JSON: {error.msg}", hint=_FORM) from error
    except (ValueError, RecursionError) as error:  # no UTF-8; a number of thousands of digits; thousands of brackets
        raise InputError(f"{file} is not JSON that can be read: {error}", hint=_FORM) from error
    if not isinstance(document, list):
        raise InputError(f"{file} holds {_kind(document)}, not a list of blocks", hint=_FORM)
    return tuple(_block(entry, f"{file}, block {number}") for number, entry in enumerate(document, 1))


def _block(entry: Any, where: str) -> Block:
    if not isinstance(entry, dict):
        raise InputError(f"{where} is {_kind(entry)}, not an object", hint=_FORM)
    for key, kind in (("id", str), ("role", str), ("env", dict), ("args", dict)):
        if key not in entry:
            raise InputError(f"{where} has no {key}", hint=_FORM)
        if entry[key] is None and kind is dict:
            entry = {**entry, key: {}}  # an empty mapping in YAML
        if not isinstance(entry[key], kind):
            wanted = "a text" if kind is str else "an object"
            raise InputError(f"{where}: {key} is {_kind(entry[key])}, not {wanted}", hint=_FORM)
    env = {name: None if value is None else _text(value) for name, value in entry["env"].items()}
    args = {name.removeprefix("--"): _arg(value) for name, value in entry["args"].items()}
    return Block(entry["id"], entry["role"], env, args)


def _arg(value: Any) -> ArgValue:
    if value is None or isinstance(value, bool):
        return value
    return tuple(map(_text, value)) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    """What stands on the command line or in the environment; Python's own spelling of what JSON spells otherwise."""
    if isinstance(value, dict | list):
        return json.dumps(value)
    return value if isinstance(value, str) else str(value)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
