"""What a package manager is about to replace under the cards: read, never installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

PATIENCE = 20.0
"""Seconds. Reading Debian's lists takes one or two."""
_UNDER_THE_CARDS = re.compile(
    r"(?:lib)?nvidia-|(?:lib)?cuda-|libcuda|libnccl|libcublas|datacenter-gpu|gdrcopy|mlnx-|ofed-"
    r"|linux-(?:image|headers|modules|generic|lowlatency|server|virtual|aws|azure|gcp|oracle)"
)
"""Names of packages that bring the driver, what sits beside it, or the kernel that it was built for."""
_INST = re.compile(r"Inst (\S+) \[([^\]]*)\] \((\S+)")
"""A line of `apt-get -s upgrade`: ``Inst NAME [OLD] (NEW ARCHIVE [ARCH])``."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One package that the next upgrade replaces."""

    package: str
    now: str
    then: str


def pending_upgrades(*, patience: float = PATIENCE) -> tuple[Upgrade, ...] | str:
    """The driver's and the kernel's pending upgrades; none where there is no apt, and why not where it does not say.

    Simulated, without apt's lock, from the lists that are here. A package on hold is not among them.
    """
    program = shutil.which("apt-get")
    if program is None:
        return ()
    # As root in a terminal apt would take its lock even to simulate.
    command = [program, "-s", "-q", "-o", "Debug::NoLocking=1", "dist-upgrade"]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"apt-get does not say: {error}"
    if done.returncode:
        return f"apt-get does not say: {(done.stderr.strip().splitlines() or ['no words'])[-1]}"
    return under_the_cards(done.stdout.splitlines())


def under_the_cards(lines: Iterable[str]) -> tuple[Upgrade, ...]:
    """The upgrades that matter, from what `apt-get -s` prints. Pure."""
    found = (Upgrade(*match.groups()) for line in lines if (match := _INST.match(line)))
    return tuple(upgrade for upgrade in found if _UNDER_THE_CARDS.match(upgrade.package))
