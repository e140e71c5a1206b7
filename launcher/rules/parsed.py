"""One flag with its value, as the engine's argument parser takes it or refuses it.

The reasons are argparse's own words, without what they are about:
https://docs.python.org/3.11/library/argparse.html. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from launcher.knobs import Abbreviation, EngineKnobs, Flag, Unevaluated, Unknown, find_flag
from launcher.profile import ArgValue

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")
"""What argparse takes for a negative number, and so for a value; `-1e5` is none."""
_SHORT = re.compile(r"\d+(\.\d+)?[kMGT]|\d+[KMGT]i")


def refusal(knobs: EngineKnobs, name: str, value: ArgValue) -> str | None:
    """Why the parser refuses `value` under `name`, such as ``ambiguous`` or ``invalid choice``; None: it takes it.

    False and None are a flag that is not written. What a parser of the engine's own says of a text, and choices that
    the source does not list, are not judged.
    """
    if value is None or value is False:
        return None
    words = () if value is True else (value,) if isinstance(value, str) else value
    return _refused(knobs, name, words)


def _refused(knobs: EngineKnobs, name: str, words: tuple[str, ...]) -> str | None:
    """The same of a flag and the words that follow it; the name may have a value joined to it with ``=``."""
    plain, equals, joined = name.partition("=")
    match find_flag(knobs, plain):
        case Unknown():
            return "unrecognized"
        case Abbreviation() as short:
            return "ambiguous" if short.ambiguous else _refused(knobs, short.candidates[0] + name[len(plain) :], words)
        case Flag() as flag if flag.refused:
            return "refused"
        case Flag() as flag if equals:
            return _joined(flag, joined) or _left(knobs, words)
        case Flag() as flag:
            return _taken(knobs, flag, words)


def _joined(flag: Flag, text: str) -> str | None:
    """A value behind an equals sign is the only one, whatever it looks like."""
    if not flag.takes_value:
        return f"ignored explicit argument {text!r}"
    if isinstance(flag.nargs, int) and flag.nargs > 1:
        return f"expected {flag.nargs} arguments"
    return _text(flag, text)


def _taken(knobs: EngineKnobs, flag: Flag, words: tuple[str, ...]) -> str | None:
    least, most = _count(flag, len(words))
    own = tuple(takewhile(lambda text: not _is_option(text), words))[:most]
    if len(own) < least:
        return _EXPECTED.get(flag.nargs, f"expected {least} arguments")
    refused = (reason for text in own if (reason := _text(flag, text)))
    return next(refused, None) or _left(knobs, words[len(own) :])


def _left(knobs: EngineKnobs, words: tuple[str, ...]) -> str | None:
    """Words that no flag takes: another flag with its own, or what stands alone, where the engine takes nothing."""
    if not words:
        return None
    first, *rest = words
    return _refused(knobs, first.removeprefix("--"), tuple(rest)) if first.startswith("--") else "unrecognized"


_EXPECTED: Mapping[int | str | None, str] = {
    None: "expected one argument",
    1: "expected 1 argument",
    "+": "expected at least one argument",
}


def _count(flag: Flag, given: int) -> tuple[int, int]:
    """How many words the flag takes, at least and at most."""
    if not flag.takes_value:
        return 0, 0
    match flag.nargs:
        case int(count):
            return count, count
        case "?":
            return 0, 1
        case "*":
            return 0, given
        case "+":
            return 1, given
        case _:
            return 1, 1


def _is_option(text: str) -> bool:
    """Whether argparse takes the word for an option rather than for a value."""
    return len(text) > 1 and text[0] == "-" and not _NEGATIVE.fullmatch(text) and " " not in text


def _text(flag: Flag, text: str) -> str | None:
    parse = _PARSERS.get(flag.type, str)
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return f"invalid {_NAMED.get(flag.type, '')}value"
    choices = flag.choices
    if not isinstance(choices, tuple) or any(isinstance(choice, Unevaluated) for choice in choices):
        return None
    return None if value in choices else "invalid choice"


_NAMED: Mapping[str, str] = {"int": "int ", "float": "float ", "json.loads": "loads "}
"""What argparse calls a parser: its function's name. A parser of the engine's own has words of its own."""


def _whole(text: str) -> int | str:
    """A count such as 4k or 2Mi."""
    return text if _SHORT.fullmatch(text.strip()) else int(text)


def _mapping(text: str) -> Any:
    value = json.loads(text)
    if isinstance(value, dict):
        return value
    raise ValueError(text)


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "json.loads": json.loads,
    # The engine's own, by name: https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/utils/common.py
    "json_list_type": json.loads,
    "human_readable_int": _whole,
    "parse_cuda_graph_config_arg": _mapping,
}
