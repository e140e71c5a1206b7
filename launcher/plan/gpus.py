"""One way to select cards: every card stays visible, `--base-gpu-id` says where a server begins.

CUDA IPC between prefill and decode needs each process to see the peer's cards, so nothing is hidden. A list with
holes becomes an ordered CUDA_VISIBLE_DEVICES that still names all cards.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """How one server is told its cards."""

    base: int
    """``--base-gpu-id``, an index after CUDA_VISIBLE_DEVICES."""
    visible: str | None = None
    """CUDA_VISIBLE_DEVICES, where the list has holes or another order."""
    note: str | None = None


def select(gpus: tuple[int, ...], all_gpus: int) -> Selection | None:
    """The selection for `gpus` among `all_gpus` cards; None for a server without cards."""
    if not gpus:
        return None
    if gpus == tuple(range(gpus[0], gpus[0] + len(gpus))):
        return Selection(base=gpus[0])
    others = [gpu for gpu in range(max(all_gpus, *(g + 1 for g in gpus))) if gpu not in gpus]
    visible = ",".join(map(str, (*gpus, *others)))
    return Selection(base=0, visible=visible, note=f"a list with holes: CUDA_VISIBLE_DEVICES={visible} names all cards")
