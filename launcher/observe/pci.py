"""What lies between the cards: the bridges above each, whether they send peers' traffic around, and the IOMMU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ACS = 0x000D
"""Extended capability of PCI Express: Access Control Services (linux/pci_regs.h)."""
_REDIRECT = 0x04 | 0x08
"""PCI_ACS_RR and PCI_ACS_CR: requests and completions between peers go up to the root complex."""


@dataclass(frozen=True, slots=True)
class Paths:
    """How the cards reach each other."""

    bridges: Mapping[str, tuple[str, ...]]
    """Card's PCI address to the bridges above it, nearest first."""
    redirecting: tuple[str, ...]
    """Bridges above cards whose ACS sends traffic between peers up to the root complex."""
    unread: tuple[str, ...]
    """Bridges whose configuration only root may read in full."""
    iommu: Mapping[str, str]
    """Card's PCI address to the kind of its IOMMU group: ``identity`` passes through, ``DMA`` and ``DMA-FQ`` translate;
    without an IOMMU there is none."""


def paths(cards: Iterable[str], sys_folder: Path = Path("/sys")) -> Paths:
    """The ways of the cards with these PCI addresses, as far as they can be read."""
    bridges: dict[str, tuple[str, ...]] = {}
    iommu: dict[str, str] = {}
    for card in cards:
        device = sys_folder / "bus/pci/devices" / card
        bridges[card] = tuple(_above(device))
        kind = _text(device / "iommu_group/type")
        if kind:
            iommu[card] = kind
    above = sorted({bridge for ways in bridges.values() for bridge in ways})
    controls = {bridge: _acs(sys_folder / "bus/pci/devices" / bridge / "config") for bridge in above}
    return Paths(
        bridges=bridges,
        redirecting=tuple(bridge for bridge, control in controls.items() if control and control & _REDIRECT),
        unread=tuple(bridge for bridge, control in controls.items() if control is None),
        iommu=iommu,
    )


def _above(device: Path) -> Iterator[str]:
    """The addresses of the bridges in a device's real path, nearest first."""
    try:
        parts = device.resolve(strict=True).parts
    except OSError:
        return
    yield from (part for part in reversed(parts[:-1]) if _ADDRESS.fullmatch(part))


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _acs(config: Path) -> int | None:
    """The control bits of ACS; 0 without ACS, None where the extended part may not be read."""
    try:
        data = config.read_bytes()
    except OSError:
        return None
    if len(data) <= 0x100:  # what others than root are shown
        return None
    return acs_control(data)


def acs_control(data: bytes) -> int:
    """Control bits of Access Control Services in a function's configuration space; 0 where it has none.

    Extended capabilities begin at 0x100: 16 bits of identity, 4 of version, 12 of where the next one is.
    """
    at, seen = 0x100, set()
    while at and at not in seen and at + 8 <= len(data):
        seen.add(at)
        head = int.from_bytes(data[at : at + 4], "little")
        if head & 0xFFFF == _ACS:
            return int.from_bytes(data[at + 6 : at + 8], "little")
        at = head >> 20
    return 0
