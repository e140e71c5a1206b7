"""The grammar as a JSON Schema, for editors that complete and check a profile while it is written."""

from __future__ import annotations

import json
from typing import Any

from launcher.profile.grammar import PROFILE, Either, Key, ListOf, Named, Section, Shape
from launcher.profile.kinds import Kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a profile as it is written in YAML.

    It describes form only; what needs two places at once (GPUs, ports, roles) is found when the profile is loaded.
    """
    return {
        "$schema": DIALECT,
        "title": "pdlaunch profile",
        "description": "A prefill/decode (or aggregated) SGLang deployment.",
        **_shape(PROFILE),
    }


def schema_text() -> str:
    """The schema as it is shipped: JSON text with a line break at the end."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _shape(shape: Shape) -> dict[str, Any]:
    match shape:
        case Kind():
            return dict(shape.schema)
        case Section():
            return _section(shape)
        case Named():
            return {
                "type": "object",
                "propertyNames": {"pattern": f"^(?:{shape.pattern})$"},
                "additionalProperties": _shape(shape.shape),
            }
        case ListOf():
            return {"type": "array", "items": _shape(shape.shape)}
        case Either(single):
            one = _shape(single)
            return {"anyOf": [one, {"type": "array", "items": one}]}


def _section(section: Section) -> dict[str, Any]:
    required = [name for name, key in section.keys.items() if key.required]
    mapping: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _key(key) for name, key in section.keys.items()},
    }
    if required:
        mapping["required"] = required
    return {"anyOf": [_shape(section.short[1]), mapping]} if section.short else mapping


def _key(key: Key) -> dict[str, Any]:
    return {"description": key.about, **_shape(key.shape)}
