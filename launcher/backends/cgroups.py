"""Which unit a process belongs to, by its control group: nothing that it does to itself changes that."""

from __future__ import annotations

from pathlib import Path


def units_of(pid: int) -> frozenset[str]:
    """The units around a process, a user's own manager included; empty where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(part for line in lines for part in line.split(":", 2)[-1].split("/") if part)
