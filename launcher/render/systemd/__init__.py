"""systemd's files: the units of a generation, and how they become files that systemd reads."""

from launcher.render.systemd.names import (
    ready_unit,
    rejoin_unit,
    service_unit,
    target_unit,
    verify_timer,
    verify_unit,
    watch_unit,
)
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
