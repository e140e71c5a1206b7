"""From the tree to plain values by the grammar; what cannot be read is found and left out, the rest goes on."""

from __future__ import annotations

import re
from difflib import get_close_matches

from launcher.profile.findings import Finding
from launcher.profile.grammar import ENGINE, FLAG, REPLICA, VARIABLE, Either, ListOf, Named, Section, Shape
from launcher.profile.kinds import Kind, RefusedError
from launcher.profile.tree import Block, Entry, Items, KeyPath, Node, Scalar, named, spelled

ABSENT = object()
"""Stands for what could not be read."""


class Reader:
    """Reads shapes and collects what is wrong with them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def read(self, node: Node, shape: Shape, path: KeyPath = ()) -> object:
        """The value of `node`, or ABSENT; mappings become dicts and lists become tuples."""
        match shape:
            case Kind():
                return self._kind(node, shape, path)
            case Section():
                return self._section(node, shape, path)
            case Named():
                return self._named(node, shape, path)
            case ListOf():
                return self._list(node, shape, path)
            case Either(single):
                several = isinstance(node, Items)
                return self._list(node, ListOf(single), path) if several else self._kind(node, single, path)

    def _kind(self, node: Node, kind: Kind, path: KeyPath) -> object:
        try:
            return kind.read(node)
        except RefusedError as refused:
            key = path[-1] if path else ""
            write = refused.write if refused.write is None or isinstance(key, int) else f"{key}: {refused.write}"
            self.findings.append(Finding(path, refused.error, write))
            return ABSENT

    def _section(self, node: Node, section: Section, path: KeyPath) -> object:
        if not isinstance(node, Block):
            if section.short:
                key, kind = section.short
                value = self._kind(node, kind, path)
                return ABSENT if value is ABSENT else {key: value}
            if _is_empty(node):
                self.findings.append(_nothing(path, section.title))
                return ABSENT
            keys = ", ".join(section.keys)
            self.findings.append(Finding(path, f"{named(node)} stands here; {section.title} is a mapping with {keys}"))
            return ABSENT
        values: dict[str, object] = {}
        for entry in node.entries:
            known = section.keys.get(entry.key)
            if known is None:
                self.findings.append(_unknown(entry, section, path))
                continue
            value = self.read(entry.value, known.shape, (*path, entry.key))
            if value is not ABSENT:
                values[entry.key] = value
        written = {entry.key for entry in node.entries}
        missing = [name for name, key in section.keys.items() if key.required and name not in written]
        for name in missing:
            about = section.keys[name].about
            self.findings.append(Finding((*path, name), f"{section.title} needs `{name}`: {about}", f"{name}: ..."))
        unreadable = [name for name, key in section.keys.items() if key.required and name not in values]
        return ABSENT if unreadable and path else values

    def _named(self, node: Node, shape: Named, path: KeyPath) -> object:
        if not isinstance(node, Block):
            meant = f"a mapping of {shape.of} to its value"
            error = f"{named(node)} stands here; {meant} is meant"
            self.findings.append(_nothing(path, meant) if _is_empty(node) else Finding(path, error))
            return ABSENT
        values: dict[str, object] = {}
        for entry in node.entries:
            if not re.fullmatch(shape.pattern, entry.key) or not entry.key.isprintable():
                self.findings.append(Finding((*path, entry.key), f"no name of {shape.of}"))
                continue
            value = self.read(entry.value, shape.shape, (*path, entry.key))
            if value is not ABSENT:
                values[entry.key] = value
        return values

    def _list(self, node: Node, shape: ListOf, path: KeyPath) -> object:
        if not isinstance(node, Items):
            self.findings.append(Finding(path, f"{named(node)} stands here; a list is meant"))
            return ABSENT
        read = [self.read(item, shape.shape, (*path, index)) for index, item in enumerate(node.items)]
        if shape.shape is REPLICA:  # an empty one keeps the others at their numbers
            return tuple({} if value is ABSENT else value for value in read)
        return tuple(value for value in read if value is not ABSENT)


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and node.text in {"", "~"}


def _nothing(path: KeyPath, meant: str) -> Finding:
    write = f"{path[-1]}: {{}}     or delete the line" if path else None
    return Finding(path, f"nothing stands here; {meant} is meant", write)


def _unknown(entry: Entry, section: Section, path: KeyPath) -> Finding:
    here = (*path, entry.key)
    near = get_close_matches(entry.key, section.keys, n=1, cutoff=0.75)
    if near:
        return Finding(here, f"no key of {section.title}; did you mean {near[0]}?", _line(near[0], entry.value))
    if "args" in section.keys and re.fullmatch(VARIABLE, entry.key) and entry.key.upper() == entry.key:
        return Finding(here, f"no key of {section.title}; variables stand under `env`", _under("env", entry))
    if "args" in section.keys and re.fullmatch(FLAG, entry.key):
        return Finding(here, f"no key of {section.title}; the engine's flags stand under `args`", _under("args", entry))
    if not path and entry.key in {*REPLICA.keys, *ENGINE.keys}:
        home = "engine" if entry.key in ENGINE.keys else "prefill and decode"
        return Finding(here, f"no key of {section.title}; it stands under {home}")
    return Finding(here, f"no key of {section.title}; allowed: {', '.join(section.keys)}")


def _line(key: str, value: Node) -> str:
    return f"{key}: {spelled(value)}"


def _under(key: str, entry: Entry) -> str:
    return f"{key}:\n  {_line(entry.key, entry.value)}"
