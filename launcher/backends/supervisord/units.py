"""The state of one service, from what was seen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from launcher.backends.protocol import Unit, UnitState
from launcher.backends.supervisord import daemon
from launcher.backends.supervisord.scene import Scene
from launcher.render import Layout

_STATES: Mapping[str, UnitState] = {
    "STOPPED": "stopped",
    "STARTING": "starting",
    "RUNNING": "running",
    "BACKOFF": "backoff",
    "STOPPING": "stopping",
    "EXITED": "exited",
    "FATAL": "failed",
}
_ENDED = re.compile(r"(?m)^\S+ \S+ \w+ exited: (\S+) \((.+); (?:not )?expected\)$")
_TAIL = 1 << 16
"""Bytes at the end of the daemon's log in which the last ends are looked for."""


def unit(scene: Scene, name: str, layout: Layout) -> Unit:
    """The state of `name`; true where the daemon is gone, was told to end, or never started it."""
    run, info, main = scene.runs.get(name), scene.infos.get(name), scene.main(name)
    found = Unit(
        name=name,
        state="stopped" if run is None else "exited",
        pid=main.pid if main else None,
        restarts=run.restarts if run else 0,
        wanted=run is not None,
    )
    if info:
        found = _reported(found, info, layout.log(daemon.NAME))
    if main is None or scene.pid(name):
        return found
    ending = scene.supervised(main)  # and the daemon has no word for it: it was told to end
    return replace(found, state="stopping" if ending else "running", since=main.created, supervised=ending)


def _reported(found: Unit, info: Mapping[str, Any], log: Path) -> Unit:
    state = _STATES.get(info["statename"], "unknown")
    since = info["stop" if state in ("stopped", "exited", "failed") else "start"]
    found = replace(found, state=state, since=float(since) if since else None)
    if state == "exited":
        return replace(found, exit_status=info["exitstatus"], detail=_last_end(found.name, log))
    return replace(found, detail=info["spawnerr"] or None) if state in ("failed", "backoff") else found


def _last_end(name: str, log: Path) -> str | None:
    # The interface gives -1 for every signal; the log names it.
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return None
    return next((how for who, how in reversed(_ENDED.findall(text)) if who == name), None)
