"""systemd's files: the units of a generation, and how they become files that systemd reads."""

from typing import TYPE_CHECKING

from launcher.doors import later
from launcher.render.systemd.names import (
    ready_unit,
    rejoin_unit,
    service_unit,
    target_unit,
    verify_timer,
    verify_unit,
    watch_unit,
)

if TYPE_CHECKING:
    from launcher.render.systemd.placing import Command, Scope, placed, templates
    from launcher.render.systemd.units import render

__all__ = [
    "Command",
    "Scope",
    "placed",
    "ready_unit",
    "rejoin_unit",
    "render",
    "service_unit",
    "target_unit",
    "templates",
    "verify_timer",
    "verify_unit",
    "watch_unit",
]

__getattr__ = later(
    __name__, {**dict.fromkeys(("Command", "Scope", "placed", "templates"), "placing"), "render": "units"}
)
