"""Steps that remember what they were done with, so that an installation goes on where it stopped.

A step's stamp is a digest over its own inputs and those of every step before it. It is written when the step has
ended, so a step that was killed, or whose inputs changed, is done again, and so is everything that follows.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from launcher.durable import write_whole

Progress: TypeAlias = Callable[[str, str], None]
"""Gets the name of a step and what it is doing."""
Tell: TypeAlias = Callable[[str], None]
"""Gets what the step at work is doing."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step depends on, what must be there once it is done, and how to do it."""

    name: str
    inputs: str
    makes: Path
    run: Callable[[Tell], None]


def outstanding(steps: Sequence[Step], stamps: Path) -> tuple[tuple[Step, str], ...]:
    """The steps that have to be done, each with its stamp: from the first that is not done to the last."""
    found: list[tuple[Step, str]] = []
    before = ""
    for step in steps:
        before = hashlib.sha256(f"{before}\0{step.name}\0{step.inputs}".encode()).hexdigest()
        if found or not step.makes.exists() or _read(stamps / step.name)[0] != before:
            found.append((step, before))
    return tuple(found)


def perform(todo: Sequence[tuple[Step, str]], stamps: Path, progress: Progress) -> None:
    """Do the steps in order and stamp each.

    Raises OSError where the disk does not take it, and whatever a step raises.
    """
    stamps.mkdir(parents=True, exist_ok=True)
    for step, _ in todo:
        (stamps / step.name).unlink(missing_ok=True)
    for step, stamp in todo:
        started = time.monotonic()
        step.run(partial(progress, step.name))
        write_whole(stamps / step.name, f"{stamp} {time.monotonic() - started:.1f}\n")


def durations(stamps: Path) -> dict[str, float]:
    """Seconds that each finished step took when it was last done, in the order in which they ended."""
    done = sorted(stamps.glob("[!.]*"), key=lambda path: path.stat().st_mtime_ns)
    return {path.name: float(_read(path)[1]) for path in done}


def _read(path: Path) -> tuple[str, str]:
    stamp, _, seconds = (path.read_text() if path.is_file() else "").strip().partition(" ")
    return stamp, seconds
