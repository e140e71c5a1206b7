"""Which memory node each card is on, from what the driver and the kernel say of its PCIe slot."""

from __future__ import annotations

from pathlib import Path


def card_nodes(nvidia: Path = Path("/proc/driver/nvidia"), sys: Path = Path("/sys")) -> dict[int, int]:
    """Card to memory node, as far as it is known; empty on a machine with one node, where there is nothing to choose.

    Cards are counted in the order of their PCI addresses, as CUDA_DEVICE_ORDER=PCI_BUS_ID does.
    """
    if len(list((sys / "devices/system/node").glob("node[0-9]*"))) < 2 or not (nvidia / "gpus").is_dir():
        return {}
    addresses = sorted(path.name for path in (nvidia / "gpus").iterdir())
    found = {card: _node(sys / "bus/pci/devices" / address / "numa_node") for card, address in enumerate(addresses)}
    return {card: node for card, node in found.items() if node >= 0}


def _node(file: Path) -> int:
    """The kernel writes -1 where the firmware does not say."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return -1
