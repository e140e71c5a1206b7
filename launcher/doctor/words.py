"""How the checks write sizes, lists of cards and people."""

from __future__ import annotations

from collections.abc import Iterable

from launcher.observe.holders import Holder


def size(count: float) -> str:
    """``29.3 GiB`` or ``512 MiB``."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def rate(count: float) -> str:
    """``12.4 GB/s``, the unit of links and of the profile."""
    return f"{count / 1e9:.1f} GB/s" if count >= 1e8 else f"{count / 1e6:.0f} MB/s"


def numbers(indices: Iterable[int]) -> str:
    """``0-3`` or ``0,2,5``, as a profile writes them."""
    found = sorted(set(indices))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]}-{found[-1]}"
    return ",".join(map(str, found))


def gpus(indices: Iterable[int]) -> str:
    """``GPU 5``, ``GPUs 0-3``."""
    found = sorted(set(indices))
    return f"GPU{'' if len(found) == 1 else 's'} {numbers(found)}"


def count(number: int, what: str) -> str:
    """``1 file``, ``46 files``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def person(holder: Holder) -> str:
    """``pid 4242 (python -m vllm ..., of anna since 2026-12-01 11:02)``."""
    return f"pid {holder.pid} ({holder.command}, of {holder.user} since {holder.since:%Y-%m-%d %H:%M})"
