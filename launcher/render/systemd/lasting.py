"""Units that no generation owns: what a boot brings back, and what goes back to the former one unless confirmed.

Each names one generation, whose `activate` does the rest, so that one rename decides between two whole generations.
"""

from __future__ import annotations

import re
from pathlib import Path

from launcher.render.activate import NAME
from launcher.render.systemd.names import target_unit
from launcher.render.systemd.quoting import rest, word
from launcher.render.templates import fill


def boot_unit(deployment: str) -> str:
    """What a boot starts; the target itself is not enabled."""
    return f"{_stem(deployment)}-boot.service"


def return_unit(deployment: str) -> str:
    """What goes back to the former generation."""
    return f"{_stem(deployment)}-return.service"


def return_timer(deployment: str) -> str:
    """When it does."""
    return f"{_stem(deployment)}-return.timer"


def lasting(deployment: str) -> frozenset[str]:
    """The names of all of them."""
    return frozenset({boot_unit(deployment), return_unit(deployment), return_timer(deployment)})


def boot_text(deployment: str, generation: Path, boot_target: str) -> str:
    """The boot unit for `generation`; what is to start by itself hangs on `boot_target`."""
    return fill(
        "systemd/boot.service.j2",
        deployment=deployment,
        number=generation.name,
        folder=rest(str(generation)),
        activate=word(str(generation / NAME)),
        boot_target=boot_target,
    )


def brought_back(text: str) -> int | None:
    """The generation that a boot unit names; None where somebody wrote another text."""
    found = re.search(rf"/generations/(\d+)/{NAME}\b", text)
    return int(found[1]) if found else None


def _stem(deployment: str) -> str:
    return target_unit(deployment).removesuffix(".target")
