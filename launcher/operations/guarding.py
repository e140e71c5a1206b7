"""What `watch` is made of: the watcher, and those who listen to it, until somebody ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from launcher.errors import InputError
from launcher.operations.drift_watch import DriftWatch
from launcher.operations.exporting import Exporter
from launcher.operations.interrupts import Interrupted, interruptible
from launcher.operations.reacting import Reactor
from launcher.operations.traffic import Recorder
from launcher.operations.watching import Listener, Say, Watcher
from launcher.store import Store
from launcher.watch import INTERVAL, Verdict

LISTENERS: Sequence[Callable[[Store, Say], Listener]] = (Recorder, Exporter, Reactor, DriftWatch)
"""What makes each listener, once for a watcher: the exporter, the recorder, who reacts, who looks for drift.

One that has a `close` is closed when the watcher ends."""


def watch_until_told(store: Store, say: Say) -> None:
    """Watch until SIGTERM or SIGINT."""
    listeners: list[Listener] = []
    with interruptible():  # at once, whatever it waits for: `down` waits for it
        try:
            say(f"watching {store.layout.deployment}")
            listeners += [make(store, say) for make in LISTENERS]
            Watcher(store, say, listeners).run()
        except Interrupted:
            say("told to end")
        finally:
            for listener in listeners:
                if close := getattr(listener, "close", None):
                    close()


def verdict_now(store: Store) -> Verdict:
    """One verdict, from two looks: the first one has no progress to tell of.

    Raises InputError where nothing was started yet.
    """
    if store.current() is None:
        raise InputError(f"{store.layout.deployment} has not served yet", hint="pdlaunch up PROFILE")
    watcher = Watcher(store, lambda _line: None, keep=False)
    deadline = time.monotonic() + 4 * INTERVAL
    looks = 0
    while looks < 2 and time.monotonic() < deadline:
        before = watcher.verdict
        watcher.step()
        looks += watcher.verdict is not before
        time.sleep(0.2)
    if watcher.verdict is None:
        raise InputError(f"{store.layout.deployment} cannot be looked at", hint="pdlaunch status")
    return watcher.verdict
