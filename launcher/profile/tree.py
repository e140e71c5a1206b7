"""A YAML document as written: text, blocks and lists with their lines, and nothing interpreted yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys from the top, with numbers for list items: ``("decode", "replicas", 0, "gpus")``."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value; `plain` where it stands without quotes, so that other readers would interpret it."""

    text: str
    plain: bool
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """A mapping, in the order written; no key stands twice."""

    entries: tuple[Entry, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a block."""

    key: str
    line: int
    value: Node


Node: TypeAlias = Scalar | Block | Items


def dotted(path: KeyPath) -> str:
    """The path as a reader names it: ``decode.replicas[0].gpus``."""
    name = ""
    for step in path:
        name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else step
    return name


def spelled(node: Node) -> str:
    """The node on one line, as it could stand in a profile again."""
    match node:
        case Scalar(text, plain):
            return text if plain else json.dumps(text, ensure_ascii=False)
        case Block(entries):
            return "{" + ", ".join(f"{e.key}: {spelled(e.value)}" for e in entries) + "}"
        case Items(items):
            return "[" + ", ".join(map(spelled, items)) + "]"


def named(node: Node) -> str:
    """What kind of thing stands here, for a message."""
    match node:
        case Scalar():
            return "a single value"
        case Block():
            return "a mapping"
        case Items():
            return "a list"


def walk(node: Node, path: KeyPath = ()) -> Iterator[tuple[KeyPath, int, Node]]:
    """Every place below `node`: its path, the line of its key (or of itself in a list), and what stands there."""
    match node:
        case Block(entries):
            for entry in entries:
                yield (*path, entry.key), entry.line, entry.value
                yield from walk(entry.value, (*path, entry.key))
        case Items(items):
            for index, item in enumerate(items):
                yield (*path, index), item.line, item
                yield from walk(item, (*path, index))
        case Scalar():
            return
