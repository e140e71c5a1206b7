"""Keeps what a generation served while it is watched: on the disk each minute, and when the watcher ends."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from contextlib import ExitStack

from launcher.errors import PdlaunchError
from launcher.operations.watching import Say
from launcher.store import Store
from launcher.store.process import boot_id
from launcher.store.served import Record, only_recorder, read_record, write_record
from launcher.watch import Look, Verdict
from launcher.watch.served import follow

_EVERY = 60.0
"""Seconds: what a crash loses at most."""
_OWN = frozenset({"began", "finished", "current", "proved", "probed"})
"""What the journal tells of after which servers may have been stopped, started or asked by pdlaunch itself."""


class Recorder:
    """Gets each look with its verdict; two watchers of one deployment do not count it twice.

    A record that cannot be read is left alone and said once: what was served is evidence, never a must.
    """

    def __init__(self, store: Store, say: Say) -> None:
        self._store, self._say = store, say
        self._closing = ExitStack()
        self._written = time.monotonic()
        self._disk: threading.Thread | None = None
        self._journal: tuple[int, str] = (-1, "")
        self._answering: tuple[int, Collection[str]] = (-1, ())
        self._told = ""
        self._due = False
        self.record: Record | None = None
        """None where another watcher records, or nothing can be recorded."""
        try:
            if self._closing.enter_context(only_recorder(store.layout)):
                self.record = read_record(store.layout)
            else:
                say("traffic is recorded by another watcher of this deployment")
        except (PdlaunchError, OSError) as error:
            hint = getattr(error, "hint", None)
            say(f"traffic is not recorded: {error}" + (f"; {hint}" if hint else ""))

    def __call__(self, look: Look, verdict: Verdict) -> None:
        """Take one more look; the disk is not waited for."""
        if self.record is None:
            return
        answering = self._who_answers(look.generation)
        before = _harm(self.record, look.generation)
        self.record = follow(self.record, look, verdict, answering, boot=boot_id(), stamp=self._stamp())
        # What hung is no longer good, and that is asked for next.
        self._due = self._due or _harm(self.record, look.generation) != before
        self._due = self._due or time.monotonic() - self._written >= _EVERY
        if self._due and not (self._disk and self._disk.is_alive()):
            self._due, self._written = False, time.monotonic()
            self._disk = threading.Thread(target=self._write, args=(self.record,), daemon=True)
            self._disk.start()

    def close(self) -> None:
        """Write for the last time, and let another watcher record."""
        if self._disk:
            self._disk.join(_EVERY)
        if self.record is not None:
            self._write(self.record)
        self._closing.close()

    def _write(self, record: Record) -> None:
        there = set(self._store.numbers())
        kept = {number: row for number, row in record.generations.items() if number in there}
        try:
            write_record(self._store.layout, record.model_copy(update={"generations": kept}))
            self._told = ""
        except PdlaunchError as error:
            if str(error) != self._told:
                self._say(f"traffic is not written down: {error}")
            self._told = str(error)

    def _who_answers(self, number: int) -> Collection[str]:
        """The servers that answer clients: of a pair the decodes, so that no request counts twice."""
        if self._answering[0] != number:
            services = self._store.generation(number).plan.services
            self._answering = (number, {s.name for s in services if s.role in ("decode", "aggregated")})
        return self._answering[1]

    def _stamp(self) -> str:
        """Another one after each operation; the journal is read only where it has grown."""
        try:
            size = os.stat(self._store.journal.path).st_size  # noqa: PTH116  each second
        except FileNotFoundError:
            size = 0
        if size != self._journal[0]:
            own = [event for event in self._store.journal.events() if event.what in _OWN]
            self._journal = (size, f"{len(own)} {own[-1].at.isoformat()}" if own else "")
        return self._journal[1]


def _harm(record: Record, generation: int) -> tuple[int, int]:
    row = record.generations.get(generation)
    return (row.hangs, row.deaths) if row else (0, 0)
