"""Takes the values of a deployment's secrets out of any text: engines and tracebacks print what they were given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from launcher.plan import Plan

Redactor: TypeAlias = Callable[[str], str]
_SHORT = 4
"""A value of fewer characters would cut half the words of a log, and is no secret."""


def redactor(plan: Plan) -> Redactor:
    """What hides the values of all secrets of `plan`; a file that cannot be read here has a value that nobody knows."""
    values = {}
    for service in plan.services:
        for secret in service.secrets:
            if len(value := _value(secret.file)) >= _SHORT:
                values[value] = f"[{secret.name}: not shown]"

    def hide(text: str) -> str:
        for value, stand_in in values.items():
            text = text.replace(value, stand_in)
        return text

    return hide


def _value(file: str) -> str:
    try:
        return Path(file).read_text(errors="replace").replace("\0", "").rstrip("\n")
    except OSError:
        return ""
