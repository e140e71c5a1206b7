"""The lines of a log that lies in systemd's journal.

One `journalctl --follow` serves all units that are watched: asking it anew for each look would cost more than what is
watched. Format: https://systemd.io/JOURNAL_EXPORT_FORMATS/#journal-json-format
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from launcher.errors import PdlaunchError


@dataclass(slots=True)
class JournalLines:
    """New lines of one unit; what it printed before they were asked for is not among them."""

    follower: Follower
    unit: str

    def new(self) -> list[tuple[int | None, str]]:
        """What came since the last time; the journal has no line numbers."""
        self.follower.read()
        found, self.follower.waiting[self.unit] = self.follower.waiting.get(self.unit, []), []
        return [(None, line) for line in found]


@dataclass(slots=True)
class Follower:
    """A running `journalctl`, and what it said of each unit that nobody has fetched yet."""

    process: subprocess.Popen[bytes]
    waiting: dict[str, list[str]] = field(default_factory=dict)
    rest: bytes = b""

    def read(self) -> None:
        """Take in what it has said by now; waits for nothing."""
        if self.process.stdout is None:
            return
        while block := _available(self.process.stdout.fileno()):
            *lines, self.rest = (self.rest + block).split(b"\n")
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        if entry := parse(line):
            self.waiting.setdefault(entry[0], []).append(entry[1])


@contextmanager
def following(units: Collection[str], *, user: bool) -> Iterator[Follower]:
    """Follow what `units` print from now on; nothing comes where there is no journal."""
    command = [*_command(units, user=user), "--follow", "--no-tail", f"--since=@{time.time():.6f}"]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        raise _absent() from None
    with process:
        if process.stdout is not None:
            os.set_blocking(process.stdout.fileno(), False)
        try:
            yield Follower(process)
        finally:
            process.kill()


def last_entries(unit: str, count: int, *, user: bool) -> list[str]:
    """The last `count` lines that `unit` printed; none where there is no journal."""
    command = [*_command([unit], user=user), f"--lines={count}"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise _absent() from None
    return [entry[1] for line in done.stdout.splitlines() if (entry := parse(line))]


def parse(line: bytes) -> tuple[str, str] | None:
    """Unit and text of one entry; None for what is none."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    text = entry.get("MESSAGE")
    if isinstance(text, list):  # bytes that are no UTF-8, or a control character among them
        text = bytes(text).decode(errors="replace")
    return (entry.get("_SYSTEMD_USER_UNIT") or entry.get("_SYSTEMD_UNIT", ""), text) if isinstance(text, str) else None


def _command(units: Collection[str], *, user: bool) -> list[str]:
    # Matches instead of --unit, which adds what systemd itself says of the unit.
    name = "_SYSTEMD_USER_UNIT" if user else "_SYSTEMD_UNIT"
    matches = [word for unit in units for word in ("+", f"{name}={unit}")][1:]
    fields = "--output-fields=MESSAGE,_SYSTEMD_UNIT,_SYSTEMD_USER_UNIT"
    return ["journalctl", "--quiet", "--all", "--output=json", fields, *matches]


def _available(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""


def _absent() -> PdlaunchError:
    return PdlaunchError("there is no journalctl here", hint="install systemd, which brings it")
