"""On a hang: freeze evidence first, then what the profile says, at most as often as it says.

Both are done by commands of their own: the watcher looks on meanwhile, and stays small.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from launcher.operations.freezing import FOLDER
from launcher.operations.watching import Say
from launcher.plan import Plan
from launcher.store import Store
from launcher.watch import Finding, Look, Verdict
from launcher.watch.acting import action

BY = "watch"
"""Who the journal says it was."""
_FREEZING = 90.0
"""Seconds that the evidence may take before the cure goes ahead without."""
_BUSY = 4


class Reactor:
    """Listens to a watcher; acts on each hang once, and again only after a recovery."""

    def __init__(self, store: Store, say: Say) -> None:
        self._store, self._say = store, say
        self._handled: set[tuple[str, str]] = set()
        self._now: frozenset[tuple[str, str]] = frozenset()
        self._plan: tuple[int, Plan] | None = None
        self._work: threading.Thread | None = None

    def __call__(self, look: Look, verdict: Verdict) -> None:
        """Take in one verdict; returns at once."""
        self._now = frozenset(finding.key for finding in verdict.hung)
        if look.changing is None:
            self._handled &= self._now
        new = [finding for finding in verdict.hung if finding.key not in self._handled]
        if new and (self._work is None or not self._work.is_alive()):
            self._handled |= self._now
            self._work = threading.Thread(target=self._react, args=(new[0], look.generation), daemon=True)
            self._work.start()

    def _react(self, finding: Finding, generation: int) -> None:
        name = self._store.layout.deployment
        frozen = _run(("watch", "--freeze", finding.service, "-d", name), _FREEZING)
        self._say(f"{finding.service} evidence: {_last(frozen)}")
        todo = action(self._plan_of(generation).watch, finding, self._acted(), name, time.time())
        if finding.key not in self._now:
            self._say(f"{finding.service}: nothing is done, it got on by itself")
            return
        self._say(f"{finding.service}: {todo.words}")
        if not todo.command:
            return
        done = _run(todo.command, None)
        if done.returncode == _BUSY:
            self._say(f"{finding.service}: hands off: {_last(done)}")
            self._handled.discard(finding.key)
        else:
            self._say(f"{finding.service}: {'done' if done.returncode == 0 else 'failed'}: {_last(done)}")

    def _plan_of(self, generation: int) -> Plan:
        if self._plan is None or self._plan[0] != generation:
            self._plan = (generation, self._store.generation(generation).plan)
        return self._plan[1]

    def _acted(self) -> Sequence[float]:
        """The journal knows it across restarts of the watcher."""
        events = self._store.journal.events()
        mine = (event for event in events if event.by == BY and event.what == "finished")
        return [event.at.timestamp() for event in mine if event.details.get("operation") in ("restart", "rollback")]


def _run(words: Sequence[str], patience: float | None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "launcher", *words]
    environment = {**os.environ, "PDLAUNCH_BY": BY}
    environment.pop("NOTIFY_SOCKET", None)
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            start_new_session=True,  # a cure that has begun is brought to its end, whatever becomes of the watcher
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"not done within {patience:g} s")


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """What it came to: the last line that it printed, or its error."""
    lines = done.stdout.strip().splitlines() if done.returncode == 0 else []
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")] or done.stderr.splitlines()
    return (lines or errors or [f"exit {done.returncode}"])[-1]


def newest(store: Store) -> str | None:
    """The newest folder of evidence."""
    folder = store.layout.state / FOLDER
    found = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return str(folder / found[-1]) if found else None
