"""What was done to a deployment, by whom and why: one line an event, only ever appended."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from launcher.frozen import Frozen
from launcher.store.files import in_words, shared_mode, sync_folder, write_all


def now() -> dt.datetime:
    """This moment, with the machine's time zone."""
    return dt.datetime.now().astimezone()


class Event(Frozen):
    """One line of the journal."""

    what: str
    """``committed``, ``abandoned``, ``removed``, ``current``, ``began``, ``finished``, and whatever operations add."""
    by: str
    why: str | None = None
    generation: int | None = None
    at: dt.datetime = Field(default_factory=now)
    details: Mapping[str, JsonValue] = Field(default_factory=dict)


class Journal:
    """The events of one deployment, in ``STATE/journal.jsonl``. Appending is the writer's business alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, event: Event) -> None:
        """Write one event; it is on the disk when this returns, and not in part when it raises.

        Raises:
            PdlaunchError: the disk is full or not writable.
        """
        line = event.model_dump_json(exclude_none=True, exclude_defaults=False).encode() + b"\n"
        with in_words("write the journal", self.path.parent):
            new = not self.path.exists()
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                _mend(fd)
                length = os.fstat(fd).st_size
                try:
                    write_all(fd, line)
                    os.fsync(fd)
                except OSError:
                    os.ftruncate(fd, length)
                    raise
                if new:
                    os.fchmod(fd, shared_mode(self.path.parent, 0o644))
                    sync_folder(self.path.parent)
            finally:
                os.close(fd)

    def events(self) -> tuple[Event, ...]:
        """All events that can be read, oldest first; a torn last line is none."""
        return tuple(event for event in map(_parse, self._lines()) if event is not None)

    def damage(self) -> list[str]:
        """The lines that are no events, each with its place; a torn last line is no damage."""
        return [f"{self.path}:{i}: not an event" for i, line in enumerate(self._lines(), 1) if _parse(line) is None]

    def _lines(self) -> list[bytes]:
        try:
            *lines, last = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [*lines, last] if _parse(last) else lines


def _parse(line: bytes) -> Event | None:
    try:
        return Event.model_validate_json(line)
    except ValidationError:
        return None


def _mend(fd: int) -> None:
    """End a last line that a crash tore: keep it when only its newline is missing, else cut it off."""
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    head, _, tail = content.rpartition(b"\n")
    if not tail:
        return
    if _parse(tail):
        write_all(fd, b"\n")
    else:
        os.ftruncate(fd, len(head) + 1 if head else 0)
