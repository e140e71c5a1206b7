"""This machine as a receipt records it: kernel, cards, and the settings that change how engines run."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from launcher.lock.receipt import Gpu, Host
from launcher.observe.card import Absent, Cards
from launcher.observe.machine import driver_version

SETTINGS = {
    "sys/kernel/numa_balancing": "moves pages between sockets under a running engine: stalls of tens of milliseconds",
    "sys/kernel/yama/ptrace_scope": "above 0, UCX cannot copy between processes with process_vm_readv (cma)",
    "sys/kernel/pid_max": "an engine with many ranks starts thousands of threads",
    "sys/kernel/threads-max": "an engine with many ranks starts thousands of threads",
    "sys/vm/max_map_count": "memory-mapped weights and CUDA need many maps; too few end a start",
    "sys/vm/overcommit_memory": "2 refuses the large reservations of CUDA and of pinned pools",
    "sys/vm/swappiness": "host pools that were swapped out make a transfer slow",
    "sys/vm/zone_reclaim_mode": "above 0, a full node is cleared before the other one is used",
    "sys/fs/file-max": "bounds the connections of all servers together",
    "sys/fs/nr_open": "bounds what a server may raise its open files to",
    "sys/net/core/somaxconn": "bounds the backlog: a burst of agents is refused above it",
    "sys/net/core/rmem_max": "bounds the window of a KV transfer over TCP",
    "sys/net/core/wmem_max": "bounds the window of a KV transfer over TCP",
    "sys/net/ipv4/ip_local_port_range": "ports from here may be taken by any connection before a server binds them",
    "sys/net/ipv4/tcp_keepalive_time": "when an idle connection of an agent is probed, and found dead",
}
"""File below /proc, and why a receipt holds it."""
LIMITS = ("Max open files", "Max locked memory", "Max processes", "Max stack size", "Max core file size")
"""Lines of /proc/PID/limits: pinned memory for RDMA, connections, threads, and what a crash may leave behind."""
BOOT = (
    "amd_iommu", "default_hugepagesz", "hugepages", "hugepagesz", "intel_idle.max_cstate", "intel_iommu", "iommu",
    "isolcpus", "mitigations", "nohz_full", "numa_balancing", "pci", "pcie_aspm", "processor.max_cstate",
    "transparent_hugepage",
)  # fmt: skip
"""Words of the kernel's command line that change how cards, memory and cores behave; it may hold anything else too."""
_HUGE_PAGES = "kernel/mm/transparent_hugepage/enabled"


def host(
    pid: int | None = None,
    *,
    cards: Cards | Absent | None = None,
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
) -> Host:
    """The machine; the limits are those of process `pid`, else of this one. What cannot be read is left out.

    `cards` is what NVML says, where it was asked; else the driver's folder in /proc counts, which a container may lack.
    """
    nvidia = proc / "driver/nvidia"
    settings = {name.removeprefix("sys/"): text for name in SETTINGS if (text := _text(proc / name))}
    settings |= _boot(_text(proc / "cmdline"))
    if chosen := re.search(r"\[(\w+)\]", _text(sys / _HUGE_PAGES) or ""):
        settings["transparent_hugepage"] = chosen[1]
    return Host(
        name=_text(proc / "sys/kernel/hostname") or "unknown",
        kernel=_text(proc / "sys/kernel/osrelease") or "unknown",
        cpu=_field(_text(proc / "cpuinfo"), "model name"),
        cpus=os.cpu_count() or 1,
        numa_nodes=len(list((sys / "devices/system/node").glob("node[0-9]*"))) or 1,
        memory=_memory(_text(proc / "meminfo")),
        shared_memory=_size(Path("/dev/shm")),  # noqa: S108  asked for its size
        driver=(cards.driver if isinstance(cards, Cards) else None) or driver_version(nvidia),
        gpus=_told(cards) if isinstance(cards, Cards) else _gpus(nvidia),
        settings=settings,
        limits=_limits(_text(proc / f"{pid or 'self'}/limits")),
    )


def _text(path: Path) -> str | None:
    """What a file of the kernel says, on one line where it is one."""
    try:
        return path.read_text(errors="replace").strip().replace("\t", " ")
    except OSError:
        return None


def _field(text: str | None, name: str) -> str | None:
    match = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", text or "", re.MULTILINE)
    return match[1].strip() if match else None


def _boot(command_line: str | None) -> dict[str, str]:
    pairs = (word.partition("=") for word in (command_line or "").split())
    return {f"boot/{name}": value for name, _, value in pairs if name in BOOT}


def _memory(meminfo: str | None) -> int:
    kib = _field(meminfo, "MemTotal") or "0 kB"
    return int(kib.split()[0]) * 1024


def _size(folder: Path) -> int | None:
    with contextlib.suppress(OSError):
        status = os.statvfs(folder)
        return status.f_frsize * status.f_blocks
    return None


def _told(cards: Cards) -> tuple[Gpu, ...]:
    return tuple(Gpu(index=c.index, uuid=c.uuid, pci=c.pci or "unknown", model=c.name) for c in cards.cards)


def _gpus(nvidia: Path) -> tuple[Gpu, ...]:
    """The cards in the order of their PCI addresses, which name the driver's folders."""
    folder = nvidia / "gpus"
    cards = sorted(folder.iterdir()) if folder.is_dir() else []
    found = []
    for index, card in enumerate(cards):
        said = _text(card / "information")
        found.append(Gpu(index=index, uuid=_field(said, "GPU UUID"), pci=card.name, model=_field(said, "Model")))
    return tuple(found)


def _limits(text: str | None) -> dict[str, str]:
    """Soft and hard limit: ``1024 / 1048576``; one number where they are equal."""
    found = {}
    for line in (text or "").splitlines():
        for name in LIMITS:
            if line.startswith(name):
                soft, hard = line.removeprefix(name).split()[:2]
                found[name.removeprefix("Max ")] = soft if soft == hard else f"{soft} / {hard}"
    return found
