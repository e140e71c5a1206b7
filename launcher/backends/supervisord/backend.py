"""supervisord as a backend: a daemon per deployment, driven over its UNIX socket."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from launcher.backends.ending import Ending, end
from launcher.backends.processes import Proc, look
from launcher.backends.protocol import Unit
from launcher.backends.supervisord import daemon, runs
from launcher.backends.supervisord.client import (
    ALREADY_ADDED,
    ALREADY_STARTED,
    BAD_NAME,
    NOT_RUNNING,
    SPAWN_ERROR,
    STILL_RUNNING,
    Client,
    NotRunningError,
)
from launcher.backends.supervisord.units import Scene
from launcher.errors import PdlaunchError
from launcher.profile.model import Stop
from launcher.render import Layout
from launcher.render import supervisord as render

_LISTENER = "restarts"
_STOPPED = {"STOPPED", "EXITED", "FATAL"}
_SETTLED = 10.0
"""Seconds that supervisord gets to notice what has ended."""


class Supervisord:
    """Drives the services of `layout`'s deployment.

    `limits` are the plan's for stopping. `busy` says at the drain limit whether a server still works on requests:
    such a one is killed there, an idle one that only cleans up gets until the kill limit.
    """

    name = "supervisord"

    def __init__(self, layout: Layout, limits: Stop, busy: Callable[[str], bool] | None = None) -> None:
        self._layout, self._limits, self._busy = layout, limits, busy
        self._client = Client(render.socket(layout))

    def install(self, generation: Path) -> None:
        """Write the daemon's configuration for the programs of `generation`."""
        programs = generation / render.PROGRAMS
        try:
            text = programs.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise PdlaunchError(f"not rendered for supervisord: {programs} is missing") from None
        for folder in (self._layout.logs, runs.folder(self._layout)):
            folder.mkdir(parents=True, exist_ok=True)
        self._layout.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        config = daemon.config(self._layout)
        new = config.with_suffix(".new")
        new.write_text(render.daemon(self._layout, text, programs.parent, user=daemon.user()), encoding="utf-8")
        new.replace(config)

    def start(self, names: Collection[str]) -> None:
        """Start `names` as installed, the daemon first where it does not run."""
        scene = self._look()
        for name in names:
            if (main := scene.main(name)) is not None and main in scene.strays(name):
                raise PdlaunchError(f"{name} runs outside supervisord ({main})", hint=f"stop {name} first")
        todo = [n for n in names if scene.infos.get(n, {}).get("statename") not in ("STARTING", "RUNNING")]
        # Remains of a service that died hold its ports; one that is still stopping is stopped to the end.
        self._end([n for n in todo if scene.table.services.get(n)], drain=True)
        if scene.daemon is None:
            daemon.start(self._layout, self._client)
        self._load(todo)
        for name in todo:
            runs.ask(self._layout, name)
            if self._client("startProcess", name, False, but=(ALREADY_STARTED, SPAWN_ERROR)) is None:
                self._check_spawned(name)

    def stop(self, names: Collection[str], *, drain: bool = True) -> None:
        """Stop `names` side by side; nothing of them is left, and supervisord knows them no longer."""
        for name in names:
            runs.withdraw(self._layout, name)
        self._end(names, drain=drain)
        self._retire(names)

    def units(self) -> Mapping[str, Unit]:
        """The state of every service that is installed, held by the daemon or found running."""
        scene = self._look()
        found = [n for n in (*scene.infos, *scene.table.services) if n != daemon.NAME]
        return {name: scene.unit(name, self._layout) for name in dict.fromkeys((*self._installed(), *found))}

    def alive(self) -> bool:
        """Whether this deployment's daemon answers."""
        return daemon.pid(self._client) is not None

    def orphans(self) -> tuple[Proc, ...]:
        """Processes of the services that this deployment's daemon does not supervise."""
        return self._look().every()

    def end_orphans(self, *, drain: bool = True) -> None:
        """End them, and leave alone what the daemon supervises."""
        scene = self._look()
        names = dict.fromkeys(p.service for p in scene.every() if p.service is not None)
        endings = []
        for name in names:
            strays = scene.strays(name)
            main = scene.main(name)
            if main not in strays:
                main = strays[0] if main is not None else None
            endings.append(Ending(name, main, partial(_term, main), roots=strays, marked=False))
        end(endings, self._layout.state, self._limits, drain=drain, busy=self._busy)

    def close(self) -> None:
        """End the daemon; raises PdlaunchError while it still supervises a running service."""
        if running := [name for name, info in self._look().infos.items() if info["pid"]]:
            raise PdlaunchError(f"supervisord still runs {', '.join(running)}", hint="stop the services first")
        daemon.end(self._layout, self._client)

    def _look(self) -> Scene:
        infos: Mapping[str, Mapping[str, Any]] = {}
        if (pid := daemon.pid(self._client)) is not None:
            infos = {i["name"]: i for i in self._client("getAllProcessInfo") if i["name"] != _LISTENER}
        table = look(self._layout.state)
        names = {*self._installed(), *infos, *table.services}
        found = {name: run for name in names if (run := runs.read(self._layout, name)) is not None}
        return Scene(table, pid, infos, found)

    def _installed(self) -> list[str]:
        try:
            text = daemon.config(self._layout).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return re.findall(r"(?m)^\[program:(.+)\]$", text)

    def _load(self, names: Collection[str]) -> None:
        """Make the daemon take over the installed programs of `names` and no others."""
        ((added, changed, _),) = self._client("reloadConfig")
        if _LISTENER in changed:
            self._client("stopProcess", _LISTENER, True, but=(NOT_RUNNING,))
        for name in (*names, _LISTENER):
            if name in changed:
                self._client("removeProcessGroup", name)
            if name in changed or name in added:
                self._client("addProcessGroup", name, but=(ALREADY_ADDED,))

    def _check_spawned(self, name: str) -> None:
        info = self._client("getProcessInfo", name)
        if info["statename"] in ("BACKOFF", "FATAL"):
            raise PdlaunchError(f"{name} could not be started: {info['spawnerr']}")

    def _end(self, names: Collection[str], *, drain: bool) -> None:
        if not names:
            return
        scene = self._look()
        endings = []
        for name in names:
            main = scene.main(name)
            supervised = (info := scene.infos.get(name)) is not None and bool(info["pid"])
            term = partial(self._stop_process, name) if supervised else partial(_term, main)
            endings.append(Ending(name, main, term))
        end(endings, self._layout.state, self._limits, drain=drain, busy=self._busy)

    def _stop_process(self, name: str) -> None:
        self._client("stopProcess", name, False, but=(NOT_RUNNING, BAD_NAME))

    def _retire(self, names: Collection[str]) -> None:
        """Take stopped services out of the daemon: what it does not know, nobody can start again."""
        deadline = time.monotonic() + _SETTLED
        while left := {name: info for name, info in self._look().infos.items() if name in names}:
            for name, info in left.items():
                if info["statename"] in _STOPPED:
                    self._client("removeProcessGroup", name, but=(STILL_RUNNING, BAD_NAME))
                elif info["statename"] == "BACKOFF":
                    self._stop_process(name)
                elif info["pid"] and info["statename"] != "STOPPING":
                    self._end([name], drain=False)  # the listener was quicker
            if time.monotonic() > deadline:
                raise PdlaunchError(f"supervisord does not let go of {', '.join(left)}")
            time.sleep(0.02)


def _term(main: Proc | None) -> None:
    if main is not None:
        main.signal(signal.SIGTERM)


__all__ = ["NotRunningError", "Supervisord"]
