"""Which cards a server gets: ``0-3``, ``0,2,5``, ``3`` or ``[0, 1]``."""

from __future__ import annotations

import re

MOST = 256
"""Indices are below this; a box has 8 or 16."""
PATTERN = r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"


def parse_gpus(text: str) -> tuple[int, ...]:
    """The indices that `text` names, in the order written. Raises ValueError with the reason."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError("GPU indices are written 0-3, or 0,2,5")
    indices = [index for part in text.split(",") for index in _span(part)]
    twice = next((i for i in indices if indices.count(i) > 1), None)
    if twice is not None:
        raise ValueError(f"GPU {twice} stands twice")
    return tuple(indices)


def _span(part: str) -> range:
    first, _, last = part.partition("-")
    low, high = int(first[:9]), int((last or first)[:9])
    if high < low:
        raise ValueError(f"{part} runs backwards; write {high}-{low}")
    if high >= MOST:
        raise ValueError(f"GPU {high} is out of range, 0 to {MOST - 1}")
    return range(low, high + 1)
