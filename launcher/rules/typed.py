"""Values of a profile against the types that the engine and the router declare for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from launcher.errors import Problem
from launcher.knobs import EngineKnobs, EnvKnob, Flag, Reader, Unevaluated, find_flag, nearest
from launcher.profile import ArgValue, EnvValue, Finding, KeyPath, Loaded, levels

_WHOLE = re.compile(r"[-+]?[0-9]+")
_DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def check_values(loaded: Loaded, knobs: EngineKnobs, router: EngineKnobs | None = None) -> list[Problem]:
    """Values that cannot be what their flag or variable takes. A name that is not known has no type here. Pure."""
    findings: list[Finding] = []
    for path, level in levels(loaded.profile):
        known = router if path == ("router",) else knobs
        for name, arg in level.args.items():
            flag = find_flag(known, name) if known else None
            if isinstance(flag, Flag) and flag.name == name and arg is not None:
                findings += flag_value((*path, "args", name), arg, flag)
        for name, value in level.env.items():
            knob = knobs.env.get(name)
            if knob and knob.reader and value is not None:
                findings += variable_value((*path, "env", name), value, knob, knob.reader)
    return [loaded.problem(finding) for finding in findings]


def flag_value(here: KeyPath, value: ArgValue, flag: Flag) -> Iterator[Finding]:
    """Why the value is none for the flag."""
    if isinstance(value, bool):
        if flag.takes_value and value and flag.nargs not in {"?", "*"}:
            yield Finding(here, "this flag takes a value, it is no switch", _example(flag))
        return
    if not flag.takes_value:
        yield Finding(here, "a switch: true or false", f"{flag.name}: true")
        return
    texts = value if isinstance(value, tuple) else (value or "",)
    if len(texts) > 1 and flag.nargs in {None, "?"}:
        yield Finding(here, "this flag takes one value, not a list")
        return
    for text in texts:
        yield from _text(here, text, flag)


def _text(here: KeyPath, text: str, flag: Flag) -> Iterator[Finding]:
    if flag.type == "int" and not _WHOLE.fullmatch(text):
        yield Finding(here, "not a whole number", _digits(flag.name, text))
    elif flag.type == "float" and not _DECIMAL.fullmatch(text):
        yield Finding(here, "not a number", _digits(flag.name, text))
    elif flag.type == "json.loads" and not _is_json(text):
        yield Finding(here, "not JSON; a mapping becomes JSON by itself", f"{flag.name}: {{key: value}}")
    elif isinstance(flag.choices, tuple) and not any(isinstance(c, Unevaluated) for c in flag.choices):
        choices = [str(choice) for choice in flag.choices if choice is not None]
        if text not in choices:
            near = nearest(text, choices, n=1)
            error = f"not one of {', '.join(choices)}"
            yield Finding(here, error, f"{flag.name}: {near[0]}" if near else None)


def variable_value(here: KeyPath, value: EnvValue, knob: EnvKnob, reader: Reader) -> Iterator[Finding]:
    """Why the value is none for the variable, and what `reader` would make of it."""
    instead = f"; the engine would {_otherwise(reader, knob)}"
    place = f"  {knob.declared}" if knob.declared else ""
    if isinstance(value, bool):
        if reader.kind in {"int", "float"}:
            yield Finding(here, f"a number is meant, not a switch{place}", f"{knob.name}: {int(value)}")
        elif value is False and _asks_presence(reader):
            yield Finding(here, f"the engine takes any text for true, 0 as well{place}", f"{knob.name}: ~")
        return
    text = value or ""
    if reader.kind == "int" and not _WHOLE.fullmatch(text):
        yield Finding(here, f"not a whole number{instead}{place}", _digits(knob.name, text))
    elif reader.kind == "float" and not _DECIMAL.fullmatch(text):
        yield Finding(here, f"not a number{instead}{place}", _digits(knob.name, text))
    elif reader.kind == "bool" and reader.true and reader.false and not _asks_presence(reader):
        spelled = text.lower() if reader.ignores_case else text
        if spelled not in (*reader.true, *reader.false):
            yield Finding(here, f"neither true nor false{instead}{place}", f"{knob.name}: true")
    elif reader.kind == "json" and not _is_json(text):
        yield Finding(here, f"not JSON{instead}{place}")


def _asks_presence(reader: Reader) -> bool:
    """``if os.environ.get(NAME):`` asks whether there is a text: that makes no switch of a list of devices."""
    return reader.kind == "bool" and reader.false == ("",)


def _otherwise(reader: Reader, knob: EnvKnob) -> str:
    match reader.otherwise:
        case "default":
            return f"warn once and use {knob.default}"
        case "error":
            return "stop"
        case None:
            return "read something else"
        case other:
            return f"take it for {other}"


def _digits(name: str, text: str) -> str | None:
    number = re.match(r"[-+]?[0-9]+(\.[0-9]+)?", text)
    return f"{name}: {number[0]}" if number else None


def _example(flag: Flag) -> str:
    choice = flag.choices[0] if isinstance(flag.choices, tuple) and flag.choices else None
    return f"{flag.name}: {choice if choice is not None else '...'}"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
