"""Token counts in words."""

from __future__ import annotations


def count(tokens: int | None) -> str:
    """``257``, ``8,193`` or ``262k``."""
    if tokens is None:
        return "?"
    return f"{tokens:,}" if tokens < 10_000 else f"{tokens // 1000}k"
