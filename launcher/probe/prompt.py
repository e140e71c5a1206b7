"""Prompts that no cache has seen: random tokens of an exact number."""

from __future__ import annotations

import random

_FIRST, _LAST = 16, 255
"""Token ids that every vocabulary in the field has and that are no special tokens in a byte-level one."""


def unseen(tokens: int) -> list[int]:
    """`tokens` token ids, different on each call from the first one on, so that no prefix is in a cache."""
    source = random.SystemRandom()
    return [source.randint(_FIRST, _LAST) for _ in range(tokens)]


def first_length(chunk: int, context: int | None, asked: int | None, room: int) -> int:
    """Tokens of the first prompt: two chunks and one, or as asked, less where the context does not hold it.

    `room` is kept free for the answer. A short prompt proves nothing of a hang that needs context.
    """
    wanted = asked or 2 * chunk + 1
    return min(wanted, context - room) if context else wanted
