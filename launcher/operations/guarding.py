"""What `watch` is made of: the watcher, and those who listen to it, until somebody ends it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence

from launcher.errors import InputError
from launcher.operations.exporting import Exporter
from launcher.operations.reacting import Reactor
from launcher.operations.traffic import Recorder
from launcher.operations.watching import Listener, Say, Watcher
from launcher.store import Store
from launcher.watch import INTERVAL, Verdict

LISTENERS: Sequence[Callable[[Store, Say], Listener]] = (Recorder, Exporter, Reactor)
"""What makes each listener, once for a watcher: the exporter, the recorder, who reacts, who looks for drift.

One that has a `close` is closed when the watcher ends."""


def watch_until_told(store: Store, say: Say) -> None:
    """Watch until SIGTERM or SIGINT."""
    told = threading.Event()
    before = {number: signal.signal(number, lambda *_: told.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    listeners: list[Listener] = []
    try:
        say(f"watching {store.layout.deployment}")
        listeners += [make(store, say) for make in LISTENERS]
        Watcher(store, say, listeners).run(told)
        say("told to end")
    finally:
        for listener in listeners:
            if close := getattr(listener, "close", None):
                close()
        for number, handler in before.items():
            signal.signal(number, handler)


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
