"""The receipt: what of this machine a start stood on, and no lock can bring back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from launcher.frozen import Frozen
from launcher.lock.record import Record


class Gpu(Frozen):
    """One card, as the driver names it."""

    index: int
    """In PCI order, as CUDA counts with CUDA_DEVICE_ORDER=PCI_BUS_ID."""
    uuid: str | None
    pci: str
    model: str | None


class Host(Frozen):
    """The machine."""

    name: str
    kernel: str
    cpu: str | None
    cpus: int
    numa_nodes: int
    memory: int
    """Bytes."""
    shared_memory: int | None
    """Bytes of /dev/shm, through which NCCL and UCX talk."""
    driver: str | None
    gpus: tuple[Gpu, ...]
    settings: Mapping[str, str]
    """Kernel settings that change how engines run."""
    limits: Mapping[str, str]
    """Resource limits of the servers."""


class ModelFile(Frozen):
    """One file of the model: what decides its behaviour by hash, weights by what changes when they do."""

    size: int
    """Bytes."""
    mtime_ns: int | None = None
    """None where the hash was taken."""
    inode: int | None = None
    sha256: str | None = None
    """Of weights only where it was asked for."""


class ModelFiles(Frozen):
    """The model as it lies on the disk."""

    path: str
    present: bool
    """False for a name that the engine looks up itself, and for the simulator's model."""
    files: Mapping[str, ModelFile]


class Receipt(Record):
    """What a generation was started on."""

    kind: ClassVar[str] = "receipt"
    comment: ClassVar[str] = "What this machine was when the generation was started. No lock can bring it back."

    machine: Host
    model: ModelFiles
    packages: str | None
    """Digest of the distributions that were installed when it started, as the lock takes it; None where it has none."""
    secrets: Mapping[str, str | None]
    """Keyed fingerprint of each secret's value; None where its file could not be read."""
