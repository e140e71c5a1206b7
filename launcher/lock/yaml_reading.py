"""Strict YAML: mappings, lists, text, numbers, true, false and ~, each with its line; nothing else is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from yaml import events as ev

from launcher.errors import InputError
from launcher.profile.scalars import becomes

Place: TypeAlias = tuple[str | int, ...]
"""Keys from the top, with numbers for list items."""
DEEPEST = 12
"""Levels; a lock has seven."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "~": None}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,400})")
_BROKEN = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:e[-+][0-9]+)?")


def load(text: str, where: Path | str) -> tuple[Any, dict[Place, int]]:
    """The value of the one document in `text`, and the line of each place in it.

    Raises InputError, with the line, for what is no YAML or more than is taken.
    """
    reading = _Reading(text, where)
    try:
        return reading.document(), reading.lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refused(where, f"not YAML: {error.problem}", mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise refused(where, f"not YAML: {' '.join(str(error).split())}") from None


def refused(where: Path | str, error: str, line: int | None = None) -> InputError:
    """The error for a lock that cannot be taken."""
    place = f"{where}:{line}" if line else str(where)
    return InputError(f"{place}: {error}", hint="write it anew: pdlaunch lock PROFILE; or take back the one in git")


class _Reading:
    """Consumes the events of one text."""

    def __init__(self, text: str, where: Path | str) -> None:
        self.lines: dict[Place, int] = {}
        self._where = where
        self._events: Iterator[ev.Event] = iter(yaml.parse(text, Loader=_LOADER))

    def document(self) -> Any:
        next(self._events)  # StreamStart
        if isinstance(start := next(self._events), ev.StreamEndEvent):
            raise refused(self._where, "is empty")
        if isinstance(start, ev.DocumentStartEvent) and (start.version or start.tags):
            raise self._refused(start, "a % directive has no place in a lock")
        value = self._value(next(self._events), ())
        next(self._events)  # DocumentEnd
        if not isinstance(after := next(self._events), ev.StreamEndEvent):
            raise self._refused(after, "a second document begins here")
        return value

    def _value(self, event: ev.Event, place: Place) -> Any:
        self.lines.setdefault(place, _line(event))
        if len(place) > DEEPEST:
            raise self._refused(event, f"nested deeper than {DEEPEST} levels")
        if isinstance(event, ev.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise self._refused(event, "anchors, aliases and tags have no place in a lock")
        match event:
            case ev.MappingStartEvent():
                return self._mapping(place)
            case ev.SequenceStartEvent():
                return self._list(place)
            case ev.ScalarEvent():
                return self._scalar(event)
        raise self._refused(event, "no value where one is expected")

    def _mapping(self, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(self._events), ev.MappingEndEvent):
            key = self._value(event, (*place, "?"))
            if not isinstance(key, str):
                raise self._refused(event, "a key is text")
            if key in found:
                raise self._refused(event, f"{key} stands twice")
            self.lines[*place, key] = _line(event)
            found[key] = self._value(next(self._events), (*place, key))
        return found

    def _list(self, place: Place) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := next(self._events), ev.SequenceEndEvent):
            found.append(self._value(event, (*place, len(found))))
        return found

    def _scalar(self, event: ev.ScalarEvent) -> Any:
        text = event.value
        if event.style:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _WHOLE.fullmatch(text):
            return int(text)
        if _BROKEN.fullmatch(text):
            return float(text)
        if not text:
            raise self._refused(event, "nothing stands where a value is expected")
        if other := becomes(text):
            raise self._refused(event, f"{text} may be {other}; quotes make it text")
        return text

    def _refused(self, event: ev.Event, error: str) -> InputError:
        return refused(self._where, error, _line(event))


def _line(event: ev.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
