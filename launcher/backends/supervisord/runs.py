"""Run files: what was asked to run, and what became of it since.

``STATE/supervisord/decode-0.runs`` exists while decode-0 is wanted. pdlaunch creates and removes it, the event listener
``restarts.py`` appends a line for each start; nothing else needs to be alive for the record to be true.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from launcher.render import Layout


@dataclass(frozen=True, slots=True)
class Run:
    """What happened to a service since it was asked to run."""

    asked: float
    """Seconds since the epoch."""
    pid: int | None
    """The main process as of the last start."""
    restarts: int
    """How often it was started again by itself."""
    left: bool
    """It used up its tries and is left as it ended."""


def folder(layout: Layout) -> Path:
    """Where a deployment's run files lie."""
    return layout.state / "supervisord"


def ask(layout: Layout, name: str) -> None:
    """Write down that `name` is wanted, with a clean record."""
    new = folder(layout) / f".{name}.new"
    new.write_text(f"{time.time():.3f} asked\n")
    new.replace(_path(layout, name))


def started(layout: Layout, name: str, pid: int) -> None:
    """Write down the main process of `name`, as ``restarts.py`` does, which may not be up yet."""
    try:
        with _path(layout, name).open("r+") as file:
            file.seek(0, os.SEEK_END)
            file.write(f"{time.time():.3f} running {pid}\n")
    except FileNotFoundError:
        return


def withdraw(layout: Layout, name: str) -> None:
    """Write down that `name` is not wanted."""
    _path(layout, name).unlink(missing_ok=True)


def read(layout: Layout, name: str) -> Run | None:
    """The record of `name`, or None where it is not wanted."""
    try:
        text = _path(layout, name).read_text()
    except FileNotFoundError:
        return None
    lines = [line.split() for line in text.splitlines() if line]
    pids = [int(words[2]) for words in lines if words[1] == "running"]
    return Run(
        asked=float(lines[0][0]) if lines else 0.0,
        pid=pids[-1] if pids else None,
        restarts=sum(words[1] == "again" for words in lines),
        left=any(words[1] == "left" for words in lines),
    )


def _path(layout: Layout, name: str) -> Path:
    return folder(layout) / f"{name}.runs"
