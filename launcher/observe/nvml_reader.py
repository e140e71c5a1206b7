"""Asks NVML about every card and prints what it says as JSON; a script, run by `launcher.observe.cards`.

It is a process of its own, since a driver that hangs takes the thread that asked with it. Nothing of pdlaunch is
imported, so that it runs by its path. The numbers are those of https://docs.nvidia.com/deploy/nvml-api/.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

_READ, _WRITE, _NVLINK = 0, 1, 2  # nvmlGpuP2PCapsIndex_t; pynvml's own name of the first is a tuple
_UNCORRECTED_SINCE_LOAD = 4  # NVML_FI_DEV_ECC_DBE_VOL_TOTAL
_NODES_OF_MEMORY = 0  # NVML_AFFINITY_SCOPE_NODE


class Asker:
    """Asks one function after the other; what a card or a driver does not know is None, what is missing is noted."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.missing: set[str] = set()

    def ask(self, name: str, *words: Any) -> Any:
        """What `nvmlNAME` returns; None where it cannot. Raises NVMLError where the card itself is gone."""
        try:
            return getattr(self.nvml, f"nvml{name}")(*words)
        except (AttributeError, self.nvml.NVMLError) as error:
            code = getattr(error, "value", self.nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
            if code in (self.nvml.NVML_ERROR_GPU_IS_LOST, self.nvml.NVML_ERROR_RESET_REQUIRED):
                raise
            if code == self.nvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                self.missing.add(f"nvml{name}")
            return None

    def card(self, index: int) -> dict[str, Any]:
        """Everything about one card."""
        handle = self.nvml.nvmlDeviceGetHandleByIndex(index)
        pci = self.ask("DeviceGetPciInfo", handle)
        memory = self.ask("DeviceGetMemoryInfo", handle)
        rows = self.ask("DeviceGetRemappedRows", handle)
        mig = self.ask("DeviceGetMigMode", handle)
        return {
            "index": index,
            "uuid": self.ask("DeviceGetUUID", handle),
            "name": self.ask("DeviceGetName", handle),
            "pci": pci.busId if pci else None,
            "nodes": self._nodes(handle),
            "capability": self.ask("DeviceGetCudaComputeCapability", handle),
            "memory": [memory.total, memory.used, memory.free] if memory else None,
            "processes": self._processes(handle),
            "power": [
                self.ask("DeviceGetPowerManagementLimit", handle),
                self.ask("DeviceGetPowerManagementDefaultLimit", handle),
            ],
            "slowed": self.ask("DeviceGetCurrentClocksEventReasons", handle),
            "uncorrected": self._field(handle, _UNCORRECTED_SINCE_LOAD),
            "rows": [bool(rows[2]), bool(rows[3])] if rows else None,
            "width": [
                self.ask("DeviceGetCurrPcieLinkWidth", handle),
                self.ask("DeviceGetMaxPcieLinkWidth", handle),
            ],
            "generation": [
                self.ask("DeviceGetCurrPcieLinkGeneration", handle),
                self.ask("DeviceGetMaxPcieLinkGeneration", handle),
                self.ask("DeviceGetGpuMaxPcieLinkGeneration", handle),
            ],
            "mig": bool(mig[0]) if mig else None,
            "compute_mode": self.ask("DeviceGetComputeMode", handle),
            "persistence": self.ask("DeviceGetPersistenceMode", handle),
        }

    def _processes(self, handle: Any) -> list[list[int | None]]:
        found: dict[int, int | None] = {}
        for name in ("DeviceGetComputeRunningProcesses", "DeviceGetGraphicsRunningProcesses"):
            for process in self.ask(name, handle) or ():
                found.setdefault(process.pid, process.usedGpuMemory)
        return [[pid, used] for pid, used in sorted(found.items())]

    def _field(self, handle: Any, number: int) -> int | None:
        values = self.ask("DeviceGetFieldValues", handle, [number])
        return int(values[0].value.ullVal) if values and values[0].nvmlReturn == self.nvml.NVML_SUCCESS else None

    def _nodes(self, handle: Any) -> list[int]:
        """The NUMA nodes whose memory is nearest."""
        masks = self.ask("DeviceGetMemoryAffinity", handle, 1, _NODES_OF_MEMORY)
        return [bit for bit in range(64) if masks and masks[0] >> bit & 1]

    def pairs(self, indices: list[int]) -> Iterator[dict[str, Any]]:
        """What each card can do with each other one, both ways."""
        for first in indices:
            one = self.nvml.nvmlDeviceGetHandleByIndex(first)
            for second in (index for index in indices if index != first):
                other = self.nvml.nvmlDeviceGetHandleByIndex(second)
                yield {
                    "first": first,
                    "second": second,
                    "read": self.ask("DeviceGetP2PStatus", one, other, _READ),
                    "write": self.ask("DeviceGetP2PStatus", one, other, _WRITE),
                    "nvlink": self.ask("DeviceGetP2PStatus", one, other, _NVLINK),
                    "ancestor": self.ask("DeviceGetTopologyCommonAncestor", one, other),
                }


def everything(nvml: Any) -> dict[str, Any]:
    """All that NVML says; raises NVMLError where it cannot be asked at all."""
    nvml.nvmlInit()
    asker = Asker(nvml)
    cards: list[dict[str, Any]] = []
    lost: dict[int, str] = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        with _noting(nvml, functools.partial(lost.__setitem__, index)):
            cards.append(asker.card(index))
    pairs: list[dict[str, Any]] = []
    with _noting(nvml, lambda text: asker.missing.add(f"P2P: {text}")):
        pairs.extend(asker.pairs([card["index"] for card in cards]))
    return {
        "driver": asker.ask("SystemGetDriverVersion"),
        "cuda": asker.ask("SystemGetCudaDriverVersion"),
        "cards": cards,
        "lost": lost,
        "pairs": pairs,
        "missing": sorted(asker.missing),
    }


@contextlib.contextmanager
def _noting(nvml: Any, note: Callable[[str], object]) -> Iterator[None]:
    """One card that cannot be asked is no reason not to ask the others."""
    try:
        yield
    except nvml.NVMLError as error:
        note(str(error))


def main() -> None:
    """Print one JSON object: what NVML says, or why it says nothing."""
    try:
        import pynvml
    except ImportError as error:
        json.dump({"absent": "module", "said": str(error)}, sys.stdout)
        return
    try:
        said = everything(pynvml)
    except pynvml.NVMLError as error:
        said = {"absent": error.value, "said": str(error)}
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
