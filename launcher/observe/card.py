"""What is known of NVIDIA cards: plain data, so that who judges it needs no library and no driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Why: TypeAlias = Literal["library", "driver", "mismatch", "permission", "hung", "module", "failed"]


@dataclass(frozen=True, slots=True)
class Absent:
    """Why nothing can be said about cards."""

    why: Why
    reason: str
    """One line for a person."""


@dataclass(frozen=True, slots=True)
class CardProcess:
    """A process that has memory on a card."""

    pid: int
    """As the driver counts: in a container, a number of the host."""
    memory: int | None
    """Bytes; None where the driver does not say."""


@dataclass(frozen=True, slots=True)
class Link:
    """How a card is connected; each None where the driver does not say."""

    width: int | None
    """Lanes in use."""
    max_width: int | None
    """Lanes that card and slot could use."""
    generation: int | None
    """Now; an idle card saves power in a lower one."""
    max_generation: int | None
    """That card and slot can do together."""
    card_generation: int | None
    """That the card itself can do."""


@dataclass(frozen=True, slots=True)
class Card:
    """One card. What the driver does not say is None."""

    index: int
    """In the order of PCI addresses, as CUDA counts with CUDA_DEVICE_ORDER=PCI_BUS_ID."""
    uuid: str | None
    name: str | None
    pci: str | None
    """As Linux writes it: ``0000:41:00.0``."""
    numa: int | None
    """The node whose memory is nearest."""
    capability: tuple[int, int] | None
    """Compute capability: (12, 0) on Blackwell workstation cards."""
    memory: int | None
    """Bytes, all of it."""
    used: int | None
    """Bytes, with what the driver keeps for itself (some hundred MiB)."""
    free: int | None
    """Bytes."""
    processes: tuple[CardProcess, ...]
    power_limit: float | None
    """Watts."""
    power_default: float | None
    """Watts that the card was made for."""
    slowed: tuple[str, ...]
    """Why its clocks are held down now: heat, power brake, hardware."""
    uncorrected: int | None
    """Memory errors since the driver was loaded that ECC could not correct."""
    rows_pending: bool | None
    """A bad row of memory is replaced at the next reset."""
    rows_failed: bool | None
    """A bad row of memory could not be replaced."""
    link: Link
    mig: bool | None
    """Cut into slices, so that it cannot be used as a whole."""
    compute_mode: Literal["default", "prohibited", "exclusive"] | None
    persistence: bool | None
    """Whether the driver keeps the card awake while nobody uses it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What one card can do with another one's memory."""

    first: int
    second: int
    read: str
    """``ok``, or why not."""
    write: str
    nvlink: bool
    ancestor: str | None
    """What their ways meet in: board, switch, switches, host bridge, node, system."""

    @property
    def direct(self) -> bool:
        """Whether data goes from card to card without a copy in the host's memory."""
        return self.read == self.write == "ok"


@dataclass(frozen=True, slots=True)
class Cards:
    """Every card, and what the driver says of itself."""

    driver: str | None
    cuda: str | None
    """The newest CUDA that this driver runs, such as ``13.0``."""
    cards: tuple[Card, ...]
    lost: Mapping[int, str]
    """Cards that are counted but do not answer, and what the driver says of them."""
    pairs: tuple[Pair, ...]
    missing: tuple[str, ...]
    """Functions that this driver's library does not have."""

    def card(self, index: int) -> Card | None:
        """The card of that index, where it answers."""
        return next((card for card in self.cards if card.index == index), None)

    def pair(self, first: int, second: int) -> Pair | None:
        """What `first` can do with the memory of `second`."""
        return next((pair for pair in self.pairs if (pair.first, pair.second) == (first, second)), None)
