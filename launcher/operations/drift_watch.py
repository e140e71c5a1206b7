"""Looks for drift each minute while a deployment is watched, and tells each change of it once."""

from __future__ import annotations

import threading
import time

from launcher.errors import PdlaunchError
from launcher.operations.watching import Say
from launcher.store import Store
from launcher.watch import Look, Verdict

_EVERY = 60.0


class DriftWatch:
    """Listens to a watcher for the time to look; what differs is read beside it, since it takes a while."""

    def __init__(self, store: Store, say: Say) -> None:
        self._store, self._say = store, say
        self._known: tuple[str, ...] = ()
        self.count: int | None = None
        """Differences, as of the last look that could be made; None before it."""
        self._next = time.monotonic() + _EVERY
        self._work: threading.Thread | None = None

    def __call__(self, look: Look, _verdict: Verdict) -> None:
        """Start a look where it is time and nobody changes the deployment."""
        busy = self._work is not None and self._work.is_alive()
        if look.changing or look.stopped or busy or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        self._work = threading.Thread(target=self.look, daemon=True)
        self._work.start()

    def look(self) -> None:
        """Compare what runs with what was recorded, and tell what is new."""
        from launcher.operations.drifting import drift

        try:
            found = drift(self._store)
            self.count = len(found)
        except (PdlaunchError, OSError) as error:
            found = (f"cannot be read: {error}",)
        for line in found:
            if line not in self._known:
                self._say(f"drift: {line}")
        if self._known and not found:
            self._say("drift: none any more")
        self._known = found
