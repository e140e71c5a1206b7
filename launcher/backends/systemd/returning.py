"""The timer that brings a former generation back: by the clock, enabled, so that it outlives managers and machines."""

from __future__ import annotations

from launcher.backends.files import in_words, replace
from launcher.backends.systemd import placing
from launcher.backends.systemd.systemctl import Systemctl
from launcher.render.systemd.lasting import Return, return_timer, return_unit

_NOT_LOADED = (1, 5)


def arm(systemctl: Systemctl, way: Return) -> None:
    """Have it come back when it is due; repeatable, the last time counts."""
    systemctl.require()
    replace(way.script, way.script_text())
    for name, text in way.units().items():
        placing.put(systemctl.units / name, text)
    timer = return_timer(way.deployment)
    systemctl("enable", "--quiet", timer)  # has the units read as well
    systemctl("restart", timer)


def disarm(systemctl: Systemctl, deployment: str) -> None:
    """Have nothing come back by itself. What runs of it now is not ended: it may be who asks."""
    timer, unit = return_timer(deployment), return_unit(deployment)
    paths = [systemctl.units / name for name in (timer, unit)]
    if not any(path.exists() for path in paths):
        return
    if systemctl.reachable:
        systemctl("disable", "--quiet", "--now", timer, refused=_NOT_LOADED)
    for path in paths:
        with in_words(path):
            path.unlink(missing_ok=True)
    if systemctl.reachable:
        systemctl("daemon-reload")
