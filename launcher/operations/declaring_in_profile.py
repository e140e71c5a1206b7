"""A declaration into a profile's text: one entry under `knobs`, and nothing else of the file touched."""

from __future__ import annotations

import json
import re

from launcher.errors import InputError
from launcher.profile import Loaded, levels


def values_in(loaded: Loaded, name: str) -> tuple[str, ...]:
    """The different values that the profile gives a variable, as they are written."""
    found = [
        loaded.lines.written(*path, "env", name)
        for path, level in levels(loaded.profile)
        if level.env.get(name) is not None
    ]
    return tuple(dict.fromkeys(text for text in found if text is not None))


def into_profile(loaded: Loaded, name: str, value: str, why: str) -> tuple[str, str]:
    """The profile's text with the declaration, and the lines that are new.

    Raises InputError where the profile has an entry of that name, or writes `knobs` on one line.
    """
    lines = loaded.text.splitlines(keepends=True)
    place = f"{loaded.path}:{loaded.lines.at('knobs')}"
    if loaded.lines.has("knobs", name):
        raise InputError(
            f"{loaded.path}:{loaded.lines.at('knobs', name)} declares {name} already",
            hint="add the value to its `safe` there, or write an entry under `allow`",
        )
    if not loaded.lines.has("knobs"):
        added = f"\nknobs:\n{_entry('  ', name, value, why)}"
        return _ended(loaded.text) + added, added
    at = loaded.lines.at("knobs")
    if re.fullmatch(r"knobs:\s*(#.*)?", lines[at - 1].rstrip("\r\n")) is None:
        raise InputError(f"{place} writes `knobs` on one line", hint="write its entries on lines of their own")
    added = _entry(_indent(lines[at:]), name, value, why)
    return "".join([*lines[: at - 1], _ended(lines[at - 1]), added, *lines[at:]]), added


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _indent(below: list[str]) -> str:
    """The indent of the entries that follow."""
    first = next((line for line in below if line.strip() and not line.lstrip().startswith("#")), "  ")
    return first[: len(first) - len(first.lstrip(" "))] or "  "


def _entry(indent: str, name: str, value: str, why: str) -> str:
    """JSON's strings are YAML's, so no text can break out of its place."""
    safe, reason = (json.dumps(text, ensure_ascii=False) for text in (value, why))
    return f"{indent}{name}:\n{indent}  safe: {safe}\n{indent}  why: {reason}\n"
