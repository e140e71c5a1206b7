"""A catalogue file from YAML, strictly: every scalar is text, and every complaint names its line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import TypeAdapter, ValidationError

from launcher.errors import InputError, Problem
from launcher.knobs.declaration import Declaration
from launcher.misfits import in_our_words

Keys: TypeAlias = tuple[str | int, ...]
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOP = ("component", "defaults", "knobs")
_DECLARATION = TypeAdapter(Declaration)


def read(path: Path, text: str) -> dict[str, tuple[Declaration, int]]:
    """The declarations in `text`, each with its line.

    Raises InputError carrying every problem, with the line it stands on.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _faulty(path, [_problem(path, line, "", f"not YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise _faulty(path, [_problem(path, 1, "", f"not YAML: {error}")]) from None
    except RecursionError:
        raise _faulty(path, [_problem(path, 1, "", "nested deeper than any declaration")]) from None
    problems: list[Problem] = []
    lines: dict[Keys, int] = {}
    if node and _shared(node, problems, path):
        raise _faulty(path, problems)
    data = _plain(node, (), lines, problems, path) if node else {}
    found = dict(_declarations(path, data, lines, problems))
    if problems:
        raise _faulty(path, problems)
    return found


def _declarations(
    path: Path, data: Any, lines: Mapping[Keys, int], problems: list[Problem]
) -> Iterator[tuple[str, tuple[Declaration, int]]]:
    if not isinstance(data, dict) or not isinstance(data.get("knobs"), dict):
        problems.append(_problem(path, 1, "", "a catalogue holds `knobs:`, a mapping of names to declarations"))
        return
    for key in data.keys() - set(_TOP):
        error = f"no key of a catalogue; allowed: {', '.join(_TOP)}"
        problems.append(_problem(path, lines[(key,)], key, error))
    shared = {"component": data.get("component", "local"), **_mapping(data.get("defaults"))}
    for name, entry in data["knobs"].items():
        try:
            whole = {"name": name, **shared, **_mapping(entry)}
            yield name, (_DECLARATION.validate_json(json.dumps(whole)), lines[("knobs", name)])
        except ValidationError as error:
            problems += _said(path, error, ("knobs", name), lines)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _said(path: Path, error: ValidationError, at: Keys, lines: Mapping[Keys, int]) -> Iterator[Problem]:
    for each in error.errors():
        where = (*at, *each["loc"])
        line = next(lines[where[:n]] for n in range(len(where), 0, -1) if where[:n] in lines)
        said = "no key of a declaration" if each["type"] == "extra_forbidden" else in_our_words(each)
        yield _problem(path, line, ".".join(map(str, where)), said)


def _shared(top: yaml.Node, problems: list[Problem], path: Path) -> bool:
    """Whether an alias names a node again: a few lines of them would become gigabytes."""
    seen: set[int] = set()
    waiting = [top]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            line = node.start_mark.line + 1
            problems.append(_problem(path, line, "", "anchors and aliases are not part of a catalogue; write it twice"))
            return True
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return False


def _plain(node: yaml.Node, at: Keys, lines: dict[Keys, int], problems: list[Problem], path: Path) -> Any:
    lines.setdefault(at, node.start_mark.line + 1)
    match node:
        case yaml.MappingNode():
            values: dict[str, Any] = {}
            for key, value in node.value:
                here = (*at, str(key.value))
                line = key.start_mark.line + 1
                if here in lines:
                    error = f"stands twice; the first is in line {lines[here]}"
                    problems.append(_problem(path, line, str(key.value), error))
                    continue
                lines[here] = line
                values[str(key.value)] = _plain(value, here, lines, problems, path)
            return values
        case yaml.SequenceNode():
            return [_plain(item, (*at, index), lines, problems, path) for index, item in enumerate(node.value)]
    return node.value


def _problem(path: Path, line: int, subject: str, error: str) -> Problem:
    return Problem(where=f"{path}:{line}", subject=subject, error=error)


def _faulty(path: Path, problems: list[Problem]) -> InputError:
    count = len(problems)
    return InputError(f"{path}: {count} error{'' if count == 1 else 's'}", problems=tuple(problems))
