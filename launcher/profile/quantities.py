"""Durations and token counts: pdlaunch's own numbers carry a unit."""

from __future__ import annotations

import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"MB/s": 1e6, "GB/s": 1e9}
_TOKENS = {"": 1, "k": 1000, "M": 1_000_000}
DURATION = r"^(0|[1-9][0-9]*)(\.[0-9]+)?(ms|s|m|h)$"
RATE = r"^(0|[1-9][0-9]*)(\.[0-9]+)?(MB|GB)/s$"
TOKENS = r"^[1-9][0-9]*[kM]?$"


def seconds(text: str) -> float | None:
    """The seconds of ``90s``, ``30m``, ``2h`` or ``500ms``; None for anything else."""
    match = re.match(DURATION, text)
    return float(match[1] + (match[2] or "")) * _SECONDS[match[3]] if match and text == match[0] else None


def rate(text: str) -> float | None:
    """The bytes a second of ``500MB/s`` or ``12.5GB/s``; None for anything else. M is 10^6, as for links."""
    match = re.match(RATE, text)
    return float(text[:-4]) * _BYTES[text[-4:]] if match and text == match[0] else None


def tokens(text: str) -> int | None:
    """The tokens of ``8193``, ``64k`` or ``1M``; None for anything else.

    ``k`` is 1000, as in everything that pdlaunch prints: a context of 262144 tokens is shown as 262k.
    """
    match = re.match(TOKENS, text)
    if not match or match[0] != text:
        return None
    digits = text.rstrip("kM")
    return int(digits) * _TOKENS[text[len(digits) :]]
