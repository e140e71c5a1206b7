"""supervisord as a backend: a daemon per deployment, driven over its UNIX socket."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from launcher.backends import files
from launcher.backends.ending import Ending, end
from launcher.backends.processes import Proc
from launcher.backends.protocol import Unit
from launcher.backends.supervisord import daemon, runs, users
from launcher.backends.supervisord.client import (
    ALREADY_ADDED,
    ALREADY_STARTED,
    BAD_NAME,
    NOT_RUNNING,
    SPAWN_ERROR,
    STILL_RUNNING,
    Client,
)
from launcher.backends.supervisord.scene import OWN, Scene, known, see
from launcher.backends.supervisord.units import unit
from launcher.errors import PdlaunchError
from launcher.profile.model import Stop
from launcher.render import Layout
from launcher.render import supervisord as render

_STOPPED = {"STOPPED", "EXITED", "FATAL"}
_SETTLED = 10.0
"""Seconds that supervisord gets to notice what has ended."""


class Supervisord:
    """Drives the services of `layout`'s deployment.

    `limits` are the plan's for stopping. `busy` says at the drain limit whether a server still works on requests:
    such a one is killed there, an idle one that only cleans up gets until the kill limit. `watch` is the command of the
    watcher, which runs as long as the daemon does.
    """

    name = "supervisord"

    def __init__(
        self,
        layout: Layout,
        limits: Stop,
        busy: Callable[[str], bool] | None = None,
        watch: Sequence[str] | None = None,
    ) -> None:
        self._layout, self._limits, self._busy, self._watch = layout, limits, busy, watch
        self._client = Client(render.socket(layout))

    def require(self) -> None:
        """It comes with pdlaunch."""

    def install(self, generation: Path) -> None:
        """Write the daemon's configuration for the programs of `generation`."""
        programs = generation / render.PROGRAMS
        try:
            text = programs.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise PdlaunchError(f"not rendered for supervisord: {programs} is missing") from None
        users.check(text)
        config = render.daemon(self._layout, text, programs.parent, user=daemon.user(), watch=self._watch)
        with files.in_words(self._layout.state):
            for folder in (self._layout.logs, runs.folder(self._layout)):
                folder.mkdir(parents=True, exist_ok=True)
        with files.in_words(self._layout.run):
            self._layout.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.replace(daemon.config(self._layout), config)

    def start(self, names: Collection[str]) -> None:
        """Start `names` as installed, the daemon first where it does not run.

        Each is first taken out of the daemon, with whatever is left of it, and comes back as it is installed now; the
        others keep what they were started with.
        """
        daemon.pid(self._client)  # raises for one that was told to end
        scene = self._see()
        for name in names:
            if (main := scene.main(name)) is not None and not scene.supervised(main):
                raise PdlaunchError(f"{name} runs outside supervisord: {main}", hint=f"stop {name} first")
        todo = [n for n in names if scene.infos.get(n, {}).get("statename") not in ("STARTING", "RUNNING")]
        self.stop(todo)
        if scene.daemon is None:
            daemon.start(self._layout, self._client)
        self._load(todo)
        for name in todo:
            runs.ask(self._layout, name)
            self._client("startProcess", name, False, but=(ALREADY_STARTED, SPAWN_ERROR))
        infos = known(self._client)
        for name in todo:
            if infos[name]["statename"] in ("BACKOFF", "FATAL"):
                raise PdlaunchError(f"{name} could not be started: {infos[name]['spawnerr']}")
            if infos[name]["pid"]:
                runs.started(self._layout, name, infos[name]["pid"])

    def stop(self, names: Collection[str], *, drain: bool = True) -> None:
        """Stop `names` side by side; nothing of them is left, and the daemon knows them no longer."""
        if not names:
            return
        scene = self._see()  # before the run files go: they tell main processes from remains
        for name in names:
            runs.withdraw(self._layout, name)
        self._end(scene, names, drain=drain)
        self._retire(names)

    def units(self) -> Mapping[str, Unit]:
        """The state of every service that is installed, held by the daemon or found running."""
        scene = self._see()
        names = dict.fromkeys((*self._installed(), *scene.services()))
        return {name: unit(scene, name, self._layout) for name in names}

    def overrides(self, generation: Path) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002  the protocol's
        """Nothing: what the daemon reads is written anew at each start of a service."""
        return {}

    def alive(self) -> bool:
        """Whether this deployment's daemon runs."""
        return daemon.find(self._layout, self._client) is not None

    def orphans(self) -> tuple[Proc, ...]:
        """Processes of the services that this deployment's daemon does not supervise, oldest first."""
        found = [proc for strays in self._see().every_stray().values() for proc in strays]
        return tuple(sorted(found, key=lambda p: (p.started, p.pid)))

    def end_orphans(self, *, drain: bool = True) -> None:
        """End them, and leave alone what the daemon supervises."""
        scene = self._see()
        endings = []
        for name, strays in scene.every_stray().items():
            main = scene.main(name)
            if main is not None and main not in strays:
                main = strays[0]  # beside a supervised one: a twin, and the oldest of it is its main process
            endings.append(Ending(name, main, partial(_term, main), roots=strays, marked=False))
        end(endings, self._layout.state, self._limits, drain=drain, busy=self._busy)

    def arrived(self) -> None:
        """Nothing stands for the whole but the daemon."""

    def at_boot(self, generation: Path | None) -> None:
        """Nothing: no boot starts a daemon of its own."""

    def tell(self, text: str, *, bad: bool = False) -> None:
        """Nothing: each service has a log of its own, and what was done stands in pdlaunch's journal."""

    def close(self) -> None:
        """End the daemon; raises PdlaunchError while it still supervises a running service."""
        if running := [name for name, info in known(self._client).items() if info["pid"]]:
            raise PdlaunchError(f"supervisord still runs {', '.join(running)}", hint="stop the services first")
        daemon.end(self._layout, self._client)

    def forget(self) -> None:
        """All that it wrote lies in the deployment's folder."""

    def _see(self) -> Scene:
        return see(self._layout, self._client, self._installed())

    def _installed(self) -> list[str]:
        try:
            text = daemon.config(self._layout).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [name for name in re.findall(r"(?m)^\[program:(.+)\]$", text) if name not in OWN]

    def _load(self, names: Collection[str]) -> None:
        """Make the daemon take over the installed programs of `names`, and of its own what changed."""
        ((added, changed, removed),) = self._client("reloadConfig")
        for name in OWN:
            if name in (*changed, *removed):
                self._client("stopProcess", name, True, but=(NOT_RUNNING,))
                self._client("removeProcessGroup", name)
        for name in (*names, *OWN):
            if name in added or (name in OWN and name in changed):
                self._client("addProcessGroup", name, but=(ALREADY_ADDED,))

    def _end(self, scene: Scene, names: Collection[str], *, drain: bool) -> None:
        endings = []
        for name in names:
            main = scene.main(name)
            term = partial(self._stop_process, name) if scene.pid(name) else partial(_term, main)
            endings.append(Ending(name, main, term))
        end(endings, self._layout.state, self._limits, drain=drain, busy=self._busy)

    def _stop_process(self, name: str) -> None:
        self._client("stopProcess", name, False, but=(NOT_RUNNING, BAD_NAME))

    def _retire(self, names: Collection[str]) -> None:
        """Take stopped services out of the daemon: what it does not know, nobody can start again."""
        deadline = time.monotonic() + _SETTLED
        while left := {name: info for name, info in known(self._client).items() if name in names}:
            for name, info in left.items():
                if info["statename"] in _STOPPED:
                    self._client("removeProcessGroup", name, but=(STILL_RUNNING, BAD_NAME))
                elif info["statename"] == "BACKOFF":
                    self._stop_process(name)
                elif info["statename"] != "STOPPING":
                    self._end(
                        self._see(), [name], drain=False
                    )  # the listener was quicker, or supervisord has yet to notice
            if time.monotonic() > deadline:
                raise PdlaunchError(f"supervisord does not let go of {', '.join(left)}")
            time.sleep(0.02)


def _term(main: Proc | None) -> None:
    if main is not None:
        main.signal(signal.SIGTERM)
