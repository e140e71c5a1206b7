"""What does not fit a model, in our words: pydantic's speak of types and validators, and of Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

_MEANT: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "is no key here",
    "int": "a whole number is meant",
    "float": "a number is meant",
    "decimal": "a number is meant",
    "bool": "true or false is meant",
    "string": "a text is meant",
    "tuple": "a list is meant",
    "list": "a list is meant",
    "set": "a list is meant",
    "dict": "a mapping is meant",
    "mapping": "a mapping is meant",
    "model": "a mapping is meant",
    "dataclass": "a mapping is meant",
    "datetime": "a date with a time is meant",
    "date": "a date is meant, such as 2026-12-01",
    "finite": "a number is meant",
    "json": "is no JSON: it was cut short or edited",
    "too": "holds too few or too many",
}
"""By pydantic's name of what is wrong, or by the beginning of that name.
https://docs.pydantic.dev/latest/errors/validation_errors/"""
_BOUNDS = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
_SAID = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


def in_our_words(error: Mapping[str, Any]) -> str:
    """What is wrong with one place, from one of ``ValidationError.errors()``."""
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind == "value_error":
        return str(context["error"])
    if kind in ("literal_error", "enum"):
        return f"is to be {context['expected']}"
    if kind == "string_pattern_mismatch":
        return f"does not have the form {context['pattern']}"
    if kind in _BOUNDS:
        bound = _BOUNDS[kind]
        return f"is to be {_SAID[bound]} {context[bound]}"
    return _MEANT.get(kind) or _MEANT.get(kind.partition("_")[0], "does not fit")


def first_of(error: ValidationError) -> str:
    """The first thing that does not fit, with the place where it stands: ``about.by: is missing``."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {in_our_words(first)}" if place else in_our_words(first)
