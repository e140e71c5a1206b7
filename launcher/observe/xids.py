"""What the kernel said about NVIDIA cards since it was booted: Xids, the driver's own numbers for what went wrong."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

_XID = re.compile(r"NVRM: Xid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<number>\d+)(?:, (?P<text>.*))?")
_MOST = 4 << 20
"""Bytes; the kernel keeps less."""


@dataclass(frozen=True, slots=True)
class Xid:
    """One event: https://docs.nvidia.com/deploy/xid-errors/."""

    pci: str
    """As Linux writes it: ``0000:41:00.0``."""
    number: int
    text: str
    at: float
    """Seconds since boot."""


def xids(log: Path = Path("/dev/kmsg")) -> tuple[Xid, ...] | str:
    """Every Xid that the kernel still remembers, oldest first; why not where its log cannot be read.

    The format of /dev/kmsg: https://docs.kernel.org/admin-guide/abi-testing.html (dev-kmsg).
    """
    try:
        handle = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return f"{log}: {error.strerror}"
    records: list[bytes] = []
    size = 0
    try:
        with contextlib.suppress(BlockingIOError, OSError):  # the end; or a record that was overwritten meanwhile
            while size < _MOST and (record := os.read(handle, 8192)):
                records.append(record)
                size += len(record)
    finally:
        os.close(handle)
    return parse(b"".join(records).decode(errors="replace"))


def parse(text: str) -> tuple[Xid, ...]:
    """The Xids in lines of the form ``4,1234,98765432,-;NVRM: Xid (PCI:0000:41:00): 79, pid=1, ...``."""
    found = []
    for line in text.splitlines():
        match = _XID.search(line)
        if match:
            head = line.partition(";")[0].split(",")
            at = int(head[2]) / 1e6 if len(head) > 2 and head[2].isdigit() else 0.0
            pci = match["pci"].lower()
            pci = pci if "." in pci else f"{pci}.0"
            found.append(Xid(pci, int(match["number"]), (match["text"] or "").strip(), at))
    return tuple(found)
