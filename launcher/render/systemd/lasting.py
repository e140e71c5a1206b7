"""Units that no generation owns: what a boot brings back, and what goes back to the former one unless confirmed.

Each names one generation, whose `activate` does the rest, so that one rename decides between two whole generations.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.render.activate import NAME
from launcher.render.quoting import assignment
from launcher.render.systemd.names import target_unit
from launcher.render.systemd.placing import Command
from launcher.render.systemd.quoting import word
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
        folder=word(str(generation)),
        activate=word(str(generation / NAME)),
        boot_target=boot_target,
    )


@dataclass(frozen=True, slots=True)
class Return:
    """The way back to a former generation, unless confirmed."""

    deployment: str
    generation: int
    """The one that waits for its confirmation."""
    former: Path
    """The folder of the one to go back to."""
    state: Path
    """The deployment's folder, which holds the pointer, the note and the script."""
    due: dt.datetime
    command: Command | None
    """How to call pdlaunch; None where only the generation's own script can be called."""

    @property
    def script(self) -> Path:
        """Where `script_text` is to lie."""
        return self.state / "return.sh"

    def units(self) -> Mapping[str, str]:
        """Unit name to text; raises InputError for a path that a unit cannot hold."""
        # UTC: what a daylight-saving night does to local times is no reason to come back an hour late.
        values = {
            "deployment": self.deployment,
            "former": self.former.name,
            "due": f"{self.due.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC",
            "boot": boot_unit(self.deployment),
            "timer": return_timer(self.deployment),
            "script": word(str(self.script)),
        }
        return {
            return_unit(self.deployment): fill("systemd/return.service.j2", **values),
            return_timer(self.deployment): fill("systemd/return.timer.j2", **values),
        }

    def script_text(self) -> str:
        """What goes back: with pdlaunch, or without it."""
        told = {**self.command.environment, "PDLAUNCH_BY": "pdlaunch"} if self.command else {}
        return fill(
            "systemd/return.sh.j2",
            deployment=self.deployment,
            former=self.former.name,
            generation=self.generation,
            state=str(self.state),
            command=str(self.command.path) if self.command else None,
            environment=[assignment(name, text) for name, text in sorted(told.items())],
            activate=str(self.former / NAME),
        )


def brought_back(text: str) -> int | None:
    """The generation that a boot unit names; None where somebody wrote another text."""
    found = re.search(rf"/generations/(\d+)/{NAME}\b", text)
    return int(found[1]) if found else None


def _stem(deployment: str) -> str:
    return target_unit(deployment).removesuffix(".target")
