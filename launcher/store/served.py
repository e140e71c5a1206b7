"""What each generation served, as the watcher saw it: ``STATE/served.json``, beside what never changes.

Only the watcher writes it. A file that is damaged or of a newer form counts as none and is never written over.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import os
from collections.abc import Iterator, Mapping

from pydantic import Field, ValidationError

from launcher.errors import PdlaunchError
from launcher.frozen import Frozen
from launcher.misfits import first_of
from launcher.render.layout import Layout
from launcher.store.files import in_words, make_folder, replace, shared_mode

NAME = "served.json"
FORMAT = 1


class Served(Frozen):
    """What one generation served while it was watched."""

    since: dt.datetime
    until: dt.datetime
    """The first and the last look."""
    seconds: float = 0.0
    """While its servers were loaded and none was hung."""
    traffic: float = 0.0
    """Seconds of these in which requests were under way, or one had been completed a few minutes before."""
    requests: int = 0
    """Completed, but for pdlaunch's own prompts."""
    longest: int = 0
    """Tokens of the longest context that was completed, at least: see `launcher.watch.served.longest`."""
    hangs: int = 0
    hung: dt.datetime | None = None
    """When it first did."""
    deaths: int = 0
    """Services that ended though nobody stopped them."""
    died: dt.datetime | None = None
    """When one first did."""


class Counted(Frozen):
    """What a server had counted since its process began."""

    at: float
    """Monotonic clock, seconds."""
    finished: float = 0.0
    aborted: float = 0.0
    prompt_tokens: float = 0.0
    generated_tokens: float = 0.0
    prompts: Mapping[float, float] = Field(default_factory=dict)
    """Requests by prompt length: upper bound in tokens to how many were no longer. Empty where it does not say."""


class Seen(Frozen):
    """A service at the last look."""

    pid: int
    started: int
    """Clock ticks since boot; with the pid it names the process for ever."""
    counted: Counted | None = None
    """What the next reading is compared with; None where that must not be done."""
    owed: float = 0.0
    """Requests that were aborted and of which it may still say that they finished."""
    doubts: tuple[tuple[float, float], ...] = ()
    """When requests were aborted of late, and how many: what ended since may be one of them."""


class Record(Frozen):
    """All of it, with what the next look is compared with."""

    format: int = FORMAT
    generations: Mapping[int, Served] = Field(default_factory=dict)
    boot: str = ""
    """The boot whose clocks and process numbers these are."""
    stamp: str = ""
    """How far the journal had got: what happened before the next look may be of pdlaunch's own doing."""
    at: float = 0.0
    """Monotonic clock, seconds: the last look."""
    completed: float | None = None
    """When a request was last seen to have been completed, monotonic."""
    hanging: bool = False
    services: Mapping[str, Seen] = Field(default_factory=dict)


def read_record(layout: Layout) -> Record:
    """What was written last; an empty record where nothing was, or nothing that can be read.

    Raises:
        PdlaunchError: a newer pdlaunch wrote it, or it was damaged.
    """
    path = layout.state / NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Record()
    with in_words("read what was served", layout.state):
        try:
            record = Record.model_validate_json(text)
        except ValidationError as error:
            raise PdlaunchError(
                f"{path} is not what the watcher writes: {first_of(error)}",
                hint=f"traffic is recorded anew once it is moved away: mv {path} {path}.damaged",
            ) from error
    if record.format > FORMAT:
        raise PdlaunchError(f"{path} was written by a newer pdlaunch", hint="use that one")
    return record


def served(layout: Layout) -> Mapping[int, Served]:
    """What each generation served, by number; nothing where that cannot be read: traffic is evidence, never a must."""
    with contextlib.suppress(PdlaunchError, OSError):
        return read_record(layout).generations
    return {}


def write_record(layout: Layout, record: Record) -> None:
    """Put `record` in the place of the last one, whole or not at all.

    Raises:
        PdlaunchError: the disk is full or not writable.
    """
    with in_words("write what was served", layout.state):
        replace(layout.state / NAME, record.model_dump_json(exclude_defaults=True).encode())


@contextlib.contextmanager
def only_recorder(layout: Layout) -> Iterator[bool]:
    """Whether this process is the one that records; the kernel lets go of it when the process dies."""
    make_folder(layout.state)
    fd = os.open(layout.state / "served.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, shared_mode(layout.state, 0o644))
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)
