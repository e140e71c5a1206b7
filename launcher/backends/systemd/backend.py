"""systemd as a backend: a unit per service, driven with systemctl."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from launcher.backends.ending import Ending, end
from launcher.backends.processes import Proc
from launcher.backends.protocol import Unit
from launcher.backends.systemd import boot, placing
from launcher.backends.systemd.overrides import overrides
from launcher.backends.systemd.scene import Scene, see
from launcher.backends.systemd.systemctl import manager
from launcher.backends.systemd.telling import NOTICE, WARNING, tell
from launcher.backends.systemd.units import unit
from launcher.errors import PdlaunchError
from launcher.profile.model import Stop
from launcher.render import Layout
from launcher.render.systemd import (
    Command,
    Scope,
    placed,
    ready_unit,
    service_unit,
    target_unit,
    templates,
)

_NOT_LOADED = (5,)
"""systemctl's exit code for a unit that there is not."""
_SLACK = 30.0
"""Seconds beyond the kill limit until systemd has noticed that everything of a unit is gone."""


class Systemd:
    """Drives the services of `layout`'s deployment; `limits` and `busy` as for supervisord."""

    name = "systemd"

    def __init__(
        self,
        layout: Layout,
        limits: Stop,
        busy: Callable[[str], bool] | None = None,
        *,
        command: Command | None = None,
        nodes: Callable[[], Mapping[int, int]] = dict,
    ) -> None:
        self._layout, self._limits, self._busy = layout, limits, busy
        self._command, self._nodes = command, nodes
        self._systemctl = manager()

    def require(self) -> None:
        """Raise InputError where systemd cannot be reached."""
        self._systemctl.require()

    def install(self, generation: Path) -> None:
        """Put the units of `generation` in place, and have systemd read them."""
        self.require()
        units = self._placed(generation, self._command)
        changed = placing.place(self._systemctl.units, units, self._layout)
        # Who was killed after placing them has left systemd with what it had read before.
        shown = {} if changed else self._systemctl.show(units, ["NeedDaemonReload"])
        if changed or any(info.get("NeedDaemonReload") == "yes" for info in shown.values()):
            self._systemctl("daemon-reload")

    def start(self, names: Collection[str]) -> None:
        """Start `names` side by side, whatever they have failed before."""
        scene = self._see()
        for name in names:
            if (main := scene.main(name)) is not None and not scene.supervised(main):
                raise PdlaunchError(f"{name} runs outside systemd: {main}", hint=f"stop {name} first")
        todo = [name for name in names if unit(scene, name).state not in ("running", "starting")]
        if not todo:
            return
        self.stop(todo)
        units = self._units(todo)
        self._systemctl("reset-failed", *units, refused=(1, *_NOT_LOADED))
        try:
            self._systemctl("start", *units)
        except PdlaunchError as error:
            raise self._not_started(todo, error) from None

    def stop(self, names: Collection[str], *, drain: bool = True) -> None:
        """Stop `names` side by side; nothing of them is left, and systemd starts none of them again."""
        if not names:
            return
        scene = self._see()
        known = [name for name in names if name in scene.infos]
        # Told first whatever comes: what is stopping is not started again. It sends the TERM itself.
        self._stop_units(known, wait=False)
        end(self._endings(scene, names), self._layout.state, self._limits, drain=drain, busy=self._busy)
        self._stop_units(known, wait=True)
        if known:
            self._systemctl("reset-failed", *self._units(known), refused=(1, *_NOT_LOADED))

    def units(self) -> Mapping[str, Unit]:
        """The state of every service that is installed or found running."""
        installed = self._installed()
        scene = see(self._layout, self._systemctl, installed)
        return {name: unit(scene, name) for name in dict.fromkeys((*installed, *scene.services()))}

    def overrides(self, generation: Path) -> Mapping[str, tuple[str, ...]]:
        """Drop-ins, edits and masks of the units."""
        if not self._systemctl.reachable:
            return {}
        # The units that call pdlaunch are left out: they follow the program that installed them.
        recorded = self._placed(generation, None)
        names = {service_unit(self._layout.deployment, name): name for name in self._installed()}
        found: dict[str, list[str]] = {}
        for name, text in overrides(self._systemctl, recorded):
            found.setdefault(names.get(name, ""), []).append(text)
        return {name: tuple(lines) for name, lines in found.items()}

    def alive(self) -> bool:
        """Whether the manager runs."""
        return self._systemctl.reachable

    def orphans(self) -> tuple[Proc, ...]:
        """Processes of the services that run outside their units, oldest first."""
        found = [proc for strays in self._see().strays().values() for proc in strays]
        return tuple(sorted(found, key=lambda p: (p.started, p.pid)))

    def end_orphans(self, *, drain: bool = True) -> None:
        """End them, and leave alone what runs in units."""
        endings = [
            Ending(name, strays[0], partial(strays[0].signal, signal.SIGTERM), roots=strays, marked=False)
            for name, strays in self._see().strays().items()
        ]
        end(endings, self._layout.state, self._limits, drain=drain, busy=self._busy)

    def at_boot(self, generation: Path | None) -> None:
        """Have a boot bring back `generation`, or nothing."""
        if generation is None:
            boot.forget(self._systemctl, self._layout)
            return
        boot.remember(self._systemctl, self._layout, generation)

    def arrived(self) -> None:
        """Start the target, which asks for tokens once more by itself."""
        self._systemctl("start", "--no-block", target_unit(self._layout.deployment))

    def tell(self, text: str, *, bad: bool = False) -> None:
        """A line in the journal, where the services' lines are."""
        tell(self._layout.deployment, text, WARNING if bad else NOTICE)

    def close(self) -> None:
        """Stop what stands for the deployment as a whole; nothing else was started."""
        if not self._systemctl.reachable:
            return
        target = target_unit(self._layout.deployment)
        if not (self._systemctl.units / target).exists():
            return
        own = [path.name for path in placing.own(self._systemctl.units, self._layout)]
        # The target ends before what is part of it, and what asks for tokens refuses to be stopped by hand.
        self._systemctl(
            "stop", *(name for name in own if name != ready_unit(self._layout.deployment)), refused=_NOT_LOADED
        )
        self._until_ended(ready_unit(self._layout.deployment))
        self._systemctl("reset-failed", *own, refused=(1, *_NOT_LOADED))

    def forget(self) -> None:
        """Remove the deployment's units."""
        if not self._systemctl.reachable:
            return
        units = placing.own(self._systemctl.units, self._layout)
        for path in units:
            path.unlink(missing_ok=True)
        if units:
            self._systemctl("daemon-reload")

    def _placed(self, generation: Path, command: Command | None) -> Mapping[str, str]:
        scope: Scope = "user" if self._systemctl.user else "system"
        return placed(_rendered(generation), int(generation.name), scope, nodes=self._nodes(), command=command)

    def _until_ended(self, name: str) -> None:
        deadline = time.monotonic() + _SLACK
        while self._systemctl.show([name], ["ActiveState"]).get(name, {}).get("ActiveState") == "deactivating":
            if time.monotonic() > deadline:
                raise PdlaunchError(f"{name} does not end", hint=f"systemctl status {name}")
            time.sleep(0.05)

    def _see(self) -> Scene:
        return see(self._layout, self._systemctl, self._installed())

    def _installed(self) -> tuple[str, ...]:
        return placing.installed(self._systemctl.units, self._layout)

    def _units(self, names: Collection[str]) -> list[str]:
        return [service_unit(self._layout.deployment, name) for name in names]

    def _stop_units(self, names: Collection[str], *, wait: bool) -> None:
        if names:
            words = () if wait else ("--no-block",)
            self._systemctl(
                "stop", *words, *self._units(names), patience=self._limits.kill + _SLACK, refused=_NOT_LOADED
            )

    def _endings(self, scene: Scene, names: Collection[str]) -> list[Ending]:
        endings = []
        for name in names:
            main = scene.main(name)
            own = main is None or scene.supervised(main)
            endings.append(
                Ending(name, main, _nothing if own or main is None else partial(main.signal, signal.SIGTERM))
            )
        return endings

    def _not_started(self, names: Collection[str], error: PdlaunchError) -> PdlaunchError:
        """What is wrong with the first that did not start, rather than systemctl's advice to look."""
        scene = self._see()
        for name in names:
            found = unit(scene, name)
            if found.state in ("failed", "exited", "backoff"):
                flag = "--user " if self._systemctl.user else ""
                hint = f"journalctl {flag}-u {service_unit(self._layout.deployment, name)} -n 20"
                return PdlaunchError(f"{name} could not be started: {found.detail}", hint=hint)
        return error


def _rendered(generation: Path) -> Mapping[str, str]:
    if found := templates(generation):
        return found
    raise PdlaunchError(
        f"not rendered for systemd: {generation} has no units",
        hint="it was made for supervisord: pdlaunch up PROFILE makes one for systemd",
    )


def _nothing() -> None:
    """The TERM was sent by systemd."""
