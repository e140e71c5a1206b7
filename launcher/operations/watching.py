"""`watch`: looks at a deployment every few seconds, tells what changes, and hands what it saw to whoever listens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from launcher.errors import PdlaunchError
from launcher.operations.looking import Looker
from launcher.operations.notifying import Notifier
from launcher.operations.watch_state import watched, write
from launcher.store import Store
from launcher.watch import INTERVAL, Body, Judge, Look, Verdict
from launcher.watch.story import changes, deaths

_TICK = 1.0
"""Seconds between two looks at the processes: a death is told at once."""

Say: TypeAlias = Callable[[str], None]
"""Gets each line of the story."""
Listener: TypeAlias = Callable[[Look, Verdict], None]
"""Gets each look with its verdict: an exporter, a recorder, whoever acts. It must not wait for anything."""


class Watcher:
    """Watches the current generation of a deployment, whichever that is.

    With `keep` each verdict is written to the deployment's state, for those who ask without watching.
    """

    def __init__(
        self,
        store: Store,
        say: Say,
        listeners: Sequence[Listener] = (),
        *,
        keep: bool = True,
    ) -> None:
        self._store, self._say, self._listeners = store, say, listeners
        self._keep = keep
        self._looker: Looker | None = None
        self._judge: Judge | None = None
        self._bodies: Mapping[str, Body] = {}
        self._next = 0.0
        self._told = ""
        self.verdict: Verdict | None = None

    def run(self) -> None:
        """Watch until an exception ends it, or the deployment is forgotten; what cannot be read is tried again."""
        notify, ready, told = Notifier(), False, ""
        while self._store.layout.state.is_dir():
            began = time.monotonic()
            try:
                self.step()
                told = ""
            except (PdlaunchError, OSError) as error:
                if str(error) != told:
                    self._say(f"cannot look: {error}")
                told = str(error)
            if not ready:
                notify(READY=1)
                ready = True
            notify.status(_status(self.verdict) if not told else f"cannot look: {told}")
            time.sleep(max(0.0, began + _TICK - time.monotonic()))
        self._say(f"{self._store.layout.deployment} was forgotten: there is nothing left to watch")

    def step(self) -> None:
        """Look at the processes, and where it is time or one of them is another also at everything else."""
        looker = self._current()
        if looker is None or self._judge is None:
            return
        closely = self.verdict is not None and any(s.standing == "waiting" for s in self.verdict.services.values())
        bodies = looker.bodies(closely=closely)
        if _mains(bodies) != _mains(self._bodies):
            bodies = looker.bodies(closely=True)
            self._next = 0.0
            self._tell_deaths(looker, bodies)
        self._bodies = bodies
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + INTERVAL - _TICK / 4
        look = looker.look(bodies)
        verdict = self._judge.take(look)
        self._tell(look, verdict)
        self.verdict = verdict
        for listener in self._listeners:
            listener(look, verdict)
        if self._keep:
            with contextlib.suppress(OSError):  # a full disk is no reason to stop watching
                write(self._store.layout, watched(verdict))

    def _current(self) -> Looker | None:
        """The one who looks at what is current now; None where nothing is."""
        number = self._store.current()
        if number is None:
            self._looker = self._judge = self.verdict = None
        elif self._looker is None or self._looker.generation != number:
            if self._looker is not None:
                self._looker.close()
            self._looker = Looker(self._store, number)
            self._judge = Judge(self._looker.plan, patience=self._looker.plan.watch.after)
            self.verdict = None
        return self._looker

    def _tell_deaths(self, looker: Looker, bodies: Mapping[str, Body]) -> None:
        """At once, before anybody is asked: what died does not answer."""
        if self.verdict is not None and looker.changing() is None:
            for line in deaths(self._bodies, bodies, time.time()):
                self._say(line)

    def _tell(self, look: Look, verdict: Verdict) -> None:
        if look.changing or look.stopped:
            told = f"hands off: {look.changing}" if look.changing else "stopped by an operator"
            if told != self._told:
                self._say(told)
            self._told = told
            return
        self._told = ""
        for line in changes(self.verdict, verdict):
            self._say(line)


def _mains(bodies: Mapping[str, Body]) -> object:
    return {name: (body.main.pid, body.main.started, len(body.lost)) for name, body in bodies.items()}


def _status(verdict: Verdict | None) -> str:
    if verdict is None:
        return "nothing was started yet"
    wrong = "; ".join(str(finding) for finding in verdict.findings)
    return f"generation {verdict.generation} {verdict.state}" + (f": {wrong}" if wrong else "")
