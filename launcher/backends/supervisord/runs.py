"""Run files: what was asked to run, and what became of it since.

``STATE/supervisord/decode-0.runs`` exists while decode-0 is wanted. pdlaunch creates and removes it; it and the event
listener ``restarts.py`` append a line for each start; nobody needs to be alive for the record to be true.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from launcher.backends import files
from launcher.render import Layout


@dataclass(frozen=True, slots=True)
class Run:
    """What happened to a service since it was asked to run."""

    pid: int | None
    """The main process as of the last start."""
    restarts: int
    """How often it was started again by itself."""


def folder(layout: Layout) -> Path:
    """Where a deployment's run files lie."""
    return layout.state / "supervisord"


def ask(layout: Layout, name: str) -> None:
    """Write down that `name` is wanted, with a clean record; raises PdlaunchError where the system refuses.

    It is there or not; what it says may be lost, with the power or for want of room, so nothing waits for the disk.
    """
    path = _path(layout, name)
    with files.in_words(path):
        path.open("w").close()
    with contextlib.suppress(OSError):
        path.write_text(f"{time.time():.3f} asked\n")


def started(layout: Layout, name: str, pid: int) -> None:
    """Write down the main process of `name`; ``restarts.py`` does so too, but may not be up yet."""
    with contextlib.suppress(OSError):  # it is only a hint: without it the oldest process is taken for the main one
        file = os.open(_path(layout, name), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        with open(file, "w") as run:  # noqa: PTH123  a descriptor: a name would create the file again
            run.write(f"{time.time():.3f} running {pid}\n")


def withdraw(layout: Layout, name: str) -> None:
    """Write down that `name` is not wanted; raises PdlaunchError where the system refuses."""
    path = _path(layout, name)
    with files.in_words(path):
        path.unlink(missing_ok=True)


def read(layout: Layout, name: str) -> Run | None:
    """The record of `name`, or None where it is not wanted."""
    try:
        text = _path(layout, name).read_text()
    except FileNotFoundError:
        return None
    words = [line.split()[1:] for line in text.splitlines()]
    pids = [int(rest[0]) for what, *rest in filter(None, words) if what == "running" and rest]
    return Run(pid=pids[-1] if pids else None, restarts=words.count(["again"]))


def _path(layout: Layout, name: str) -> Path:
    return folder(layout) / f"{name}.runs"
