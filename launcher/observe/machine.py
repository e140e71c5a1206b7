"""What of this machine enters a plan: the user's home, the cards, the driver, the toolkit, the ephemeral ports."""

from __future__ import annotations

import os
import pwd
import re
import sys
from pathlib import Path
from typing import get_args

from launcher.backends.systemd.systemctl import manager
from launcher.errors import InputError
from launcher.plan.facts import DEFAULT_EPHEMERAL, MachineFacts
from launcher.plan.model import BackendName

_NVIDIA = Path("/proc/driver/nvidia")


def machine(user: str | None = None) -> MachineFacts:
    """The facts of this machine for services that run as `user` (None: who asks).

    A user that does not exist here is taken to live in /home: a plan can be made for another machine.
    """
    name, home = account(user) or (user or "", f"/home/{user}")
    cuda = Path("/usr/local/cuda")
    return MachineFacts(
        home=home,
        user=name,
        python=sys.executable,
        gpus=gpu_models(_NVIDIA),
        driver=driver_version(_NVIDIA),
        cuda=str(cuda) if (cuda / "bin" / "nvcc").exists() else None,
        ephemeral=ephemeral_range(),
        systemd=has_systemd(),
    )


def account(user: str | None) -> tuple[str, str] | None:
    """Name and home of `user`, or of who asks; None where there is no such user."""
    try:
        found = pwd.getpwnam(user) if user else pwd.getpwuid(os.geteuid())
    except KeyError:
        return None
    return found.pw_name, found.pw_dir


def has_systemd() -> bool:
    """Whether services belong to systemd here unless the profile says otherwise; PDLAUNCH_BACKEND says it for all.

    A user's own manager ends with the last login unless the user lingers (loginctl(1)): what serves must not.
    """
    if chosen := os.environ.get("PDLAUNCH_BACKEND"):
        if chosen not in get_args(BackendName):
            raise InputError(f"PDLAUNCH_BACKEND={chosen} is none of {', '.join(get_args(BackendName))}")
        return chosen == "systemd"
    systemctl = manager()
    return systemctl.reachable and (not systemctl.user or systemctl.lingers)


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
