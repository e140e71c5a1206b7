"""The records beside a generation, flattened into names and values that can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from launcher.lock.observed import Observed, ObservedService
from launcher.lock.receipt import ModelFile, Receipt
from launcher.render import Layout

RECEIPT, OBSERVED = "receipt.yaml", "observed.yaml"
_GIB = 1 << 30


def records(layout: Layout, number: int) -> tuple[Receipt | None, Observed | None]:
    """What was kept of the last start of generation `number`; InputError for a record that was edited.

    The same as `launcher.operations.receipts` reads, without all that it needs to take them.
    """
    folder = layout.state / "receipts" / str(number)
    receipt, observed = folder / RECEIPT, folder / OBSERVED
    return (
        Receipt.from_yaml(receipt.read_text(encoding="utf-8"), receipt) if receipt.is_file() else None,
        Observed.from_yaml(observed.read_text(encoding="utf-8"), observed) if observed.is_file() else None,
    )


def machine_of(receipt: Receipt) -> Mapping[str, str]:
    """What a start stood on, by name: ``driver``, ``gpu 4``, ``setting vm.swappiness``, ``model config.json``."""
    machine = receipt.machine
    plain = {
        "machine": machine.name,
        "kernel": machine.kernel,
        "driver": machine.driver,
        "cpu": machine.cpu,
        "cpus": machine.cpus,
        "NUMA nodes": machine.numa_nodes,
        "memory": f"{machine.memory / _GIB:.0f} GiB",  # the last megabytes differ at each boot
        "shared memory": f"{machine.shared_memory / _GIB:.1f} GiB" if machine.shared_memory is not None else None,
    }
    return {
        **{name: str(value) for name, value in plain.items() if value is not None},
        **{f"gpu {gpu.index}": " ".join(filter(None, (gpu.uuid, gpu.model, gpu.pci))) for gpu in machine.gpus},
        **{f"setting {name}": value for name, value in machine.settings.items()},
        **{f"limit {name}": value for name, value in machine.limits.items()},
        **{f"model {name}": _file(file) for name, file in receipt.model.files.items()},
    }


def _file(file: ModelFile) -> str:
    if file.sha256:
        return file.sha256[:12]
    return f"{file.size} bytes, inode {file.inode}, {file.mtime_ns}"


def decided_of(observed: Observed) -> Mapping[str, Mapping[str, str]]:
    """What each engine made of its start by itself, by service and name."""
    return {name: _decided(service) for name, service in observed.services.items() if service.answered}


def _decided(service: ObservedService) -> Mapping[str, str]:
    return {
        **{name: _text(value.gets) for name, value in service.resolved.items()},
        **{name: _text(value) for name, value in service.decided.items()},
        **{f"env {name}": ", ".join(values) for name, values in service.environment.items()},
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
