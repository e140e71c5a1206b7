"""The slips that a name suffers when somebody types it."""

from __future__ import annotations

import random
from collections.abc import Iterator

_PREFIXES = ("SGL", "NCCL", "UCX", "VLLM")


def slips(name: str, dice: random.Random) -> Iterator[str]:
    """A letter lost, two neighbours swapped, another case; for a variable, another prefix."""
    at = dice.randrange(1, len(name) - 1)
    yield name[:at] + name[at + 1 :]
    at = dice.choice([i for i in range(1, len(name) - 1) if name[i] != name[i + 1]])
    yield name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    yield name.swapcase() if dice.random() < 0.5 else name[:1].swapcase() + name[1:]
    own, joint, rest = name.partition("_")
    if joint and name.isupper():
        yield f"{dice.choice([prefix for prefix in _PREFIXES if prefix != own])}_{rest}"
