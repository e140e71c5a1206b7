"""Strict YAML: PyYAML's events become a tree, and whatever reads differently elsewhere is refused.

Refused: keys that stand twice, anchors, aliases, merge keys, tags, directives, a second document, and unquoted keys
that YAML 1.1 would turn into something else. Everything found is returned; only broken syntax ends the reading.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import yaml
from yaml import events as ev

from launcher.profile.file import refused
from launcher.profile.findings import Finding
from launcher.profile.scalars import becomes
from launcher.profile.tree import Block, Entry, Items, KeyPath, Node, Scalar, spelled

DEEPEST = 16
"""Levels. The grammar needs five; the rest is for flags that take JSON."""

_PLAINLY = {
    "cannot start any token": "a character that cannot begin a value here; quote the value",
    "mapping values are not allowed": "a second colon on the line, or a wrong indent; quote a value that holds a colon",
    "could not find expected ':'": "a key without a colon, or a quote that is not closed",
    "expected <block end>": "wrong indent: this line belongs to no key above",
    "found unexpected end of stream": "a quote that is not closed",
    "expected ',' or": "a bracket that is not closed, or a comma that is missing",
}


def parse(text: str, file: Path) -> tuple[Node, list[Finding]]:
    """The tree of the one document in `text`, and what is wrong with its form.

    Raises InputError where the text is empty or no YAML at all.
    """
    try:
        return _Composer(text, file).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise refused(file, _plainly(error, text), line=line) from None
    except yaml.YAMLError as error:
        raise refused(file, f"not YAML: {error}") from None


def _events(text: str) -> Iterator[ev.Event]:
    """libyaml's events, ten times as fast, where it has no objection; else PyYAML's own, whose errors say more."""
    fast = getattr(yaml, "CSafeLoader", None)
    if fast is not None:
        with contextlib.suppress(yaml.YAMLError):
            return iter(list(yaml.parse(text, Loader=fast)))
    return iter(yaml.parse(text, Loader=yaml.SafeLoader))


class _Composer:
    """Consumes the events of one text; a place that is refused still gives a node, so that the rest is read."""

    def __init__(self, text: str, file: Path) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self.events: Iterator[ev.Event] = _events(text)

    def document(self) -> tuple[Node, list[Finding]]:
        next(self.events)  # StreamStart
        start = next(self.events)
        if isinstance(start, ev.StreamEndEvent):
            raise refused(self.file, "is empty")
        if isinstance(start, ev.DocumentStartEvent) and (start.version or start.tags):
            self._refuse((), start, "a % directive has no place in a profile")
        node = self._node(next(self.events), (), 0)
        next(self.events)  # DocumentEnd
        after = next(self.events)
        if not isinstance(after, ev.StreamEndEvent):
            self._refuse((), after, "a second document begins here; a file holds one profile")
        return node, self.findings

    def _node(self, event: ev.Event, path: KeyPath, depth: int) -> Node:
        line = _line(event)
        if depth > DEEPEST:
            raise refused(self.file, f"nested deeper than {DEEPEST} levels", line=line)
        if isinstance(event, ev.AliasEvent):
            self._refuse(path, event, f"*{event.anchor}: aliases are not part of a profile; write the value out")
            return Scalar(f"*{event.anchor}", plain=True, line=line)
        self._no_anchor_or_tag(event, path)
        match event:
            case ev.MappingStartEvent():
                return Block(tuple(self._entries(path, depth)), line)
            case ev.SequenceStartEvent():
                return Items(tuple(self._items(path, depth)), line)
            case ev.ScalarEvent():
                return Scalar(_joined(event.value), plain=not event.style, line=line)
            case _:
                raise refused(self.file, "no value where one is expected", line=line)

    def _items(self, path: KeyPath, depth: int) -> Iterator[Node]:
        index = 0
        while not isinstance(event := next(self.events), ev.SequenceEndEvent):
            yield self._node(event, (*path, index), depth + 1)
            index += 1

    def _entries(self, path: KeyPath, depth: int) -> Iterator[Entry]:
        seen: dict[str, int] = {}
        while not isinstance(event := next(self.events), ev.MappingEndEvent):
            line = _line(event)
            key = self._key(event, path, depth)
            value = self._node(next(self.events), (*path, key), depth + 1)
            if key in seen:
                error = f"stands twice; the first is in line {seen[key]}"
                shown = spelled(value) if isinstance(value, Scalar) else None
                self.findings.append(Finding((*path, key), error, "one of the two", line=line, written=shown))
                continue
            seen[key] = line
            yield Entry(key, line, value)

    def _key(self, event: ev.Event, path: KeyPath, depth: int) -> str:
        node = self._node(event, path, depth + 1)
        if not isinstance(node, Scalar):
            self._refuse(path, event, "a key is a single word, not a mapping or a list")
            return f"?{node.line}"
        if node.plain and node.text == "<<":
            self._refuse((*path, "<<"), event, "merge keys are not part of a profile; write the keys out")
        elif node.plain and (other := _key_becomes(node.text)):
            self._refuse((*path, node.text), event, f"YAML 1.1 reads this key as {other}", f'"{node.text}": ...')
        return node.text

    def _no_anchor_or_tag(self, event: ev.Event, path: KeyPath) -> None:
        if anchor := getattr(event, "anchor", None):
            self._refuse(path, event, f"&{anchor}: anchors are not part of a profile; write the value twice")
        if tag := getattr(event, "tag", None):
            self._refuse(path, event, f"{tag}: tags are not part of a profile; a value is what its key says")

    def _refuse(self, path: KeyPath, event: ev.Event, error: str, write: str | None = None) -> None:
        self.findings.append(Finding(path, error, write, line=_line(event)))


def _joined(text: str) -> str:
    """Text in which a pair of escapes, as JSON writes characters beyond U+FFFF, is the one character it stands for."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return text


def _line(event: ev.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _key_becomes(word: str) -> str | None:
    return word if word in {"true", "false", "~"} else becomes(word)


def _plainly(error: yaml.MarkedYAMLError, text: str) -> str:
    mark, said = error.problem_mark, error.problem or "unknown"
    if mark and text.splitlines()[mark.line : mark.line + 1] and "\t" in _indent(text.splitlines()[mark.line], mark):
        return "a tab in the indent; YAML takes spaces only"
    for theirs, ours in _PLAINLY.items():
        if theirs in said:
            return f"not YAML: {ours}"
    return f"not YAML: {said}"


def _indent(line: str, mark: yaml.Mark) -> str:
    return line[: mark.column + 1] if not line[: mark.column].strip() else line[mark.column : mark.column + 1]
