"""``-1`` is a generation wherever one may stand, though it looks like an option."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

_NUMBER = re.compile(r"-\d+")
_VEIL = "\N{MINUS SIGN}"
"""Stands for the dash while the words are parsed; nobody can type it on a command line by accident."""


_GENERATIONS = frozenset({"generation", "before", "after"})
"""What arguments that mean a generation are called."""


class Command(TyperCommand):
    """Takes negative numbers as arguments where one of its arguments is a generation."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; what is no number and starts with a dash is an option, or refused as one."""
        arguments = [p for p in self.params if isinstance(p, TyperArgument)]
        if not any(p.name in _GENERATIONS for p in arguments):
            return super().parse_args(ctx, args)
        taking = {o for p in self.params if isinstance(p, TyperOption) and not p.is_flag for o in p.opts}
        words = [
            _veiled(word) if before not in taking else word for before, word in zip(["", *args], args, strict=False)
        ]
        rest = super().parse_args(ctx, words)
        for parameter in arguments:
            name = parameter.name or ""
            ctx.params[name] = _shown(ctx.params.get(name))
        return rest


def _veiled(word: str) -> str:
    return _VEIL + word[1:] if _NUMBER.fullmatch(word) else word


def _shown(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_shown, value))
    return f"-{value[1:]}" if isinstance(value, str) and value.startswith(_VEIL) else value
