"""The ladder: ever longer prompts, since a hang can need context that a short request never has."""

from __future__ import annotations

_RUNGS = (1_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 192_000, 256_000, 512_000, 1_000_000)


def rungs(top: int, context: int | None, room: int) -> tuple[int, ...]:
    """Prompt lengths in tokens up to `top`, less where the context does not hold them with `room` for the answer."""
    limit = min(top, context - room) if context else top
    return (*(rung for rung in _RUNGS if rung < limit), limit)


def parse(probe: str) -> int | None:
    """Tokens of ``ladder:64k``; None for ``none``. The profile's checks have accepted the word."""
    kind, _, top = probe.partition(":")
    if kind != "ladder":
        return None
    return int(top.rstrip("kM")) * {"k": 1000, "M": 1_000_000}.get(top[-1], 1)
