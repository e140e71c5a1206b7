"""What `watch` is made of: the watcher, and those who listen to it, until somebody ends it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from launcher.errors import InputError
from launcher.operations.drift_watch import DriftWatch
from launcher.operations.exporting import Exporter
from launcher.operations.interrupts import Interrupted, interruptible
from launcher.operations.reacting import Reactor
from launcher.operations.traffic import Recorder
from launcher.operations.watching import Listener, Say, Watcher
from launcher.store import Store
from launcher.watch import INTERVAL, Verdict


def watch_until_told(store: Store, say: Say) -> None:
    """Watch until SIGTERM or SIGINT."""
    listeners: Sequence[Listener] = ()
    with interruptible():  # at once, whatever it waits for: `down` waits for it
        try:
            say(f"watching {store.layout.deployment}")
            listeners = listeners_of(store, say)
            Watcher(store, say, listeners).run()
        except Interrupted:
            say("told to end")
        finally:
            for listener in listeners:
                if close := getattr(listener, "close", None):
                    close()


def listeners_of(store: Store, say: Say) -> Sequence[Listener]:
    """Who gets each look: one that has a `close` is closed when the watcher ends."""
    drift = DriftWatch(store, say)
    return (Recorder(store, say), Exporter(store, say, lambda: drift.count), Reactor(store, say), drift)


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
