"""What of this machine enters a plan: the user's home, the cards, the driver, the toolkit, the ephemeral ports."""

from __future__ import annotations

import os
import pwd
import re
import sys
from pathlib import Path

from launcher.errors import InputError
from launcher.plan.facts import DEFAULT_EPHEMERAL, MachineFacts

_NVIDIA = Path("/proc/driver/nvidia")


def machine(user: str | None = None) -> MachineFacts:
    """The facts of this machine for services that run as `user` (None: who asks).

    Raises InputError for a user that does not exist here.
    """
    try:
        account = pwd.getpwnam(user) if user else pwd.getpwuid(os.geteuid())
    except KeyError:
        raise InputError(
            f"there is no user {user!r} on this machine", hint=f"create it, or drop `user: {user}`"
        ) from None
    cuda = Path("/usr/local/cuda")
    return MachineFacts(
        home=account.pw_dir,
        user=account.pw_name,
        python=sys.executable,
        gpus=gpu_models(_NVIDIA),
        driver=driver_version(_NVIDIA),
        cuda=str(cuda) if (cuda / "bin" / "nvcc").exists() else None,
        ephemeral=ephemeral_range(),
    )


def gpu_models(nvidia: Path) -> tuple[str, ...] | None:
    """Model of each card in PCI order from the driver's own folder; None without a driver.

    The driver names its folders by PCI address, so that their order is CUDA_DEVICE_ORDER=PCI_BUS_ID.
    """
    folder = nvidia / "gpus"
    if not folder.is_dir():
        return None
    texts = [(card / "information").read_text() for card in sorted(folder.iterdir())]
    return tuple(m[1].strip() if (m := re.search(r"^Model:\s*(.+)$", t, re.M)) else "unknown" for t in texts)


def driver_version(nvidia: Path) -> str | None:
    """Version of the loaded kernel module, such as ``595.71.05``; None without one."""
    version = nvidia / "version"
    match = re.search(r"(?:Module|x86_64)\s+(\d+\.\d+(?:\.\d+)?)", version.read_text()) if version.exists() else None
    return match[1] if match else None


def ephemeral_range() -> tuple[int, int]:
    """The kernel's range of ephemeral ports."""
    path = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if not path.exists():
        return DEFAULT_EPHEMERAL
    low, high = path.read_text().split()
    return int(low), int(high)
