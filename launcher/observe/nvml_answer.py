"""From what the reader printed to data: numbers of NVML's header become words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.observe.card import Absent, Card, CardProcess, Cards, Link, Pair, Why

_CODES: Mapping[object, Why] = {"module": "module", 4: "permission", 9: "driver", 12: "library", 18: "mismatch"}
"""nvmlReturn_t."""
_P2P = (
    "ok", "the chipset does not support it", "the card does not support it", "not across these I/O hubs",
    "disabled by a driver setting", "not supported", "unknown",
)  # fmt: skip
"""nvmlGpuP2PStatus_t."""
_ANCESTORS = {0: "board", 10: "switch", 20: "switches", 30: "host bridge", 40: "node", 50: "system"}
"""nvmlGpuTopologyLevel_t: what two cards' ways meet in; `nvidia-smi topo` writes PIX, PXB, PHB, NODE, SYS."""
_SLOWED = {0x8: "hardware", 0x20: "heat", 0x40: "heat (hardware)", 0x80: "power brake"}
"""nvmlClocksEventReasons that are no good sign; an idle clock and a power cap under load are none."""
_REASONS: Mapping[Why, str] = {
    "library": "there is no NVIDIA library (libnvidia-ml.so.1) on this machine",
    "driver": "the NVIDIA library is here, but the driver is not loaded",
    "mismatch": "the NVIDIA library is of another version than the loaded driver",
    "permission": "this user may not ask the NVIDIA driver",
    "module": "pdlaunch's own environment has no nvidia-ml-py: {said}",
}


def answer(said: Mapping[str, Any], sys_folder: Path) -> Cards | Absent:
    """What the reader said; the nodes of the cards come from `sys_folder`, where Linux knows them."""
    return _absent(said) if "absent" in said else _cards(said, sys_folder)


def _absent(said: Mapping[str, Any]) -> Absent:
    why = _CODES.get(said["absent"], "failed")
    return Absent(why, _REASONS.get(why, "NVML says: {said}").format(said=said["said"]))


def _cards(said: Mapping[str, Any], sys_folder: Path) -> Cards:
    cuda = said["cuda"]
    return Cards(
        driver=said["driver"],
        cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
        cards=tuple(_card(row, sys_folder) for row in said["cards"]),
        lost={int(index): str(text) for index, text in said["lost"].items()},
        pairs=tuple(_pair(row) for row in said["pairs"]),
        missing=tuple(said["missing"]),
    )


def _card(row: Mapping[str, Any], sys_folder: Path) -> Card:
    pci = _linux_address(row["pci"]) if row["pci"] else None
    total, used, free = row["memory"] or (None, None, None)
    limit, default = (None if watts is None else watts / 1000 for watts in row["power"])
    pending, failed = row["rows"] or (None, None)
    return Card(
        index=row["index"],
        uuid=row["uuid"],
        name=row["name"],
        pci=pci,
        numa=_node(pci, row["nodes"], sys_folder),
        capability=tuple(row["capability"]) if row["capability"] else None,
        memory=total,
        used=used,
        free=free,
        processes=tuple(CardProcess(pid, memory) for pid, memory in row["processes"]),
        power_limit=limit,
        power_default=default,
        slowed=tuple(text for bit, text in _SLOWED.items() if (row["slowed"] or 0) & bit),
        uncorrected=row["uncorrected"],
        rows_pending=pending,
        rows_failed=failed,
        link=Link(*row["width"], *row["generation"]),
        mig=row["mig"],
        compute_mode=("default", "exclusive", "prohibited", "exclusive")[mode]
        if (mode := row["compute_mode"]) is not None and mode < 4
        else None,
        persistence=None if row["persistence"] is None else bool(row["persistence"]),
    )


def _pair(row: Mapping[str, Any]) -> Pair:
    read, write = (_P2P[row[way]] if row[way] is not None else "unknown" for way in ("read", "write"))
    return Pair(row["first"], row["second"], read, write, row["nvlink"] == 0, _ANCESTORS.get(row["ancestor"]))


def _linux_address(address: str) -> str:
    """NVML writes eight digits of domain and capitals; Linux four and small letters."""
    domain, _, rest = address.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _node(pci: str | None, nodes: list[int], sys_folder: Path) -> int | None:
    """Linux says -1 where firmware told it nothing; then the driver's own idea counts, where it names one node."""
    try:
        node = int((sys_folder / "bus/pci/devices" / (pci or "none") / "numa_node").read_text())
    except (OSError, ValueError):
        node = -1
    if node >= 0:
        return node
    return nodes[0] if len(nodes) == 1 else None
