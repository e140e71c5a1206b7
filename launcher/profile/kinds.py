"""The kinds of value that the grammar knows: how each is read, and how an editor's schema describes it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from launcher.profile.gpus import PATTERN as GPUS
from launcher.profile.gpus import parse_gpus
from launcher.profile.quantities import DURATION, RATE, TOKENS, rate, seconds, tokens
from launcher.profile.scalars import becomes
from launcher.profile.tree import Items, Node, Scalar, named


class RefusedError(Exception):
    """A value is not of its kind; `write` is the value to write instead."""

    def __init__(self, error: str, write: str | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.write = write


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value. `read` raises RefusedError for what is not of it."""

    read: Callable[[Node], object]
    schema: Mapping[str, Any]


def single(node: Node, meant: str) -> Scalar:
    """The node as a single value. Raises RefusedError naming what is `meant`."""
    if isinstance(node, Scalar):
        if node.plain and node.text == "":
            raise RefusedError(f"nothing stands here; {meant} is meant")
        return node
    raise RefusedError(f"{named(node)} stands here; {meant} is meant")


def word(node: Node, meant: str) -> str:
    """The node as text. Raises RefusedError for an unquoted word that other readers take for something else."""
    scalar = single(node, meant)
    if scalar.plain:
        if scalar.text in {"true", "false", "~"}:
            raise RefusedError(f"{meant} is meant; quote the word if it is the text", f'"{scalar.text}"')
        if other := becomes(scalar.text):
            raise RefusedError(f"YAML 1.1 reads this as {other}; quote it if the text is meant", f'"{scalar.text}"')
    elif not scalar.text:
        raise RefusedError(f"empty; {meant} is meant")
    return scalar.text


def text(meant: str, pattern: str | None = None, says: str | None = None) -> Kind:
    """Text, of a pattern if given; `says` explains the pattern."""

    def read(node: Node) -> str:
        value = word(node, meant)
        if pattern and not re.fullmatch(pattern, value):
            raise RefusedError(says or f"{meant} is meant")
        if not value.isprintable():
            raise RefusedError(f"holds a line break or a control character; {meant} is meant")
        return value

    return Kind(read, {"type": "string"} | ({"pattern": f"^(?:{pattern})$"} if pattern else {"minLength": 1}))


def choice(*words: str) -> Kind:
    """One of `words`."""

    def read(node: Node) -> str:
        value = word(node, " or ".join(words))
        if value not in words:
            raise RefusedError(f"not known; allowed: {', '.join(words)}", _nearest(value, words))
        return value

    return Kind(read, {"enum": list(words)})


def whole(low: int, high: int, meant: str = "a whole number") -> Kind:
    """A whole number from `low` to `high`."""

    def read(node: Node) -> int:
        scalar = single(node, meant)
        if not re.fullmatch(r"0|[1-9][0-9]*", scalar.text) or not scalar.plain:
            bare = re.fullmatch(r"\s*0*([0-9]{1,9})\s*", scalar.text)
            other = becomes(scalar.text) if scalar.plain else None
            why = f"YAML 1.1 reads this as {other}; " if other else ""
            raise RefusedError(f"{why}{meant} is meant, without quotes", bare[1] if bare else None)
        if len(scalar.text) > len(str(high)) or not low <= int(scalar.text) <= high:
            raise RefusedError(f"out of range; allowed: {low} to {high}")
        return int(scalar.text)

    return Kind(read, {"type": "integer", "minimum": low, "maximum": high})


def _duration(node: Node) -> float:
    value = word(node, "a duration such as 90s, 30m or 2h")
    found = seconds(value)
    if found is None:
        number = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(s|sec|secs|seconds|m|min|mins|minutes|h|hours)?", value)
        unit = (number[2] or "s")[0] if number else ""
        raise RefusedError(
            "a duration carries its unit: 500ms, 90s, 30m or 2h", f"{number[1]}{unit}" if number else None
        )
    if found > 30 * 86400:
        raise RefusedError("longer than 30 days")
    return found


def _rate(node: Node) -> float:
    value = word(node, "a rate such as 500MB/s or 12GB/s")
    found = rate(value) if len(value) < 12 else None
    if found is None:
        raise RefusedError("a rate is written 500MB/s or 12GB/s, in bytes; GB is 10^9")
    return found


def _tokens(node: Node) -> int:
    value = single(node, "a number of tokens such as 8193 or 64k").text
    found = tokens(value) if len(value) < 10 else None
    if found is None:
        raise RefusedError("a number of tokens is written 8193, 64k or 1M; k is 1000")
    return found


def _gpus(node: Node) -> tuple[int, ...]:
    try:
        if isinstance(node, Items):
            if not node.items:
                raise RefusedError("an empty list; leave the key out where no card is meant")
            return parse_gpus(",".join(single(item, "a GPU index").text for item in node.items))
        return parse_gpus(single(node, "a range such as 0-3, or a list such as 0,2,5").text)
    except ValueError as error:
        raise RefusedError(str(error)) from None


def _date(node: Node) -> dt.date:
    value = single(node, "a date such as 2026-12-31").text
    try:
        # fromisoformat alone takes 20261231 as well
        return dt.datetime.strptime(value, "%Y-%m-%d").date()  # noqa: DTZ007  a day has no zone
    except ValueError:
        raise RefusedError("a date is written 2026-12-31") from None


def _nearest(value: str, words: tuple[str, ...]) -> str | None:
    return next(iter(get_close_matches(value, words, n=1)), None)


DURATIONS = Kind(_duration, {"type": "string", "pattern": DURATION})
RATES = Kind(_rate, {"type": "string", "pattern": RATE})
COUNTS = Kind(_tokens, {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": TOKENS}]})
CARDS = Kind(
    _gpus,
    {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": GPUS},
            {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": True},
        ]
    },
)
DATES = Kind(_date, {"type": "string", "format": "date"})
PORT = whole(1, 65535, "a port")
