"""What a server's log says: how far it is, and the first error with its probable cause.

The wording is SGLang's, read in 0.5.23. A log grows for weeks, so readers begin where the present start began.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from launcher.observe.causes import probable_cause

READY = "The server is fired up and ready to roll!"

_PHASES = (
    ("Load weight begin", "weights"),
    ("Load weight end", "memory"),
    ("KV Cache is allocated", "memory"),
    ("Capture cuda graph begin", "graphs"),
    ("Capture draft cuda graph begin", "graphs"),
    ("Uvicorn running on", "warm-up"),
    ("Start of disaggregation warmup", "warm-up"),
    ("End of disaggregation warmup", "warm-up"),
    (READY, "loaded"),
)
_FATAL = re.compile(
    r"Traceback \(most recent call last\)|Received sigquit from a child process|crashed with exit code"
    r"|^\S*\s*error: |launch_server\.py: error:|launch_router\.py: error:|No module named|Segmentation fault|^Killed"
)
_SILENT = re.compile(r"address already in use|failed to register to bootstrap server after")
"""SGLang says these and still calls itself ready."""
_ERROR = re.compile(r"^(?:[\w.]*\.)?(?:\w*(?:Error|Exception|Exit|Interrupt)\b|\w+ERR_\w+)\S*: ?.*|.*(?:\berror: ).*")


@dataclass(frozen=True, slots=True)
class Failure:
    """The first error of a log."""

    line: str
    number: int
    """Line number in the file, from 1."""
    cause: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a start is, as its log tells."""

    phase: str | None
    failure: Failure | None
    ready: bool
    warning: str | None
    """What the engine says and then ignores, such as a taken bootstrap port."""


def read(path: Path, offset: int = 0) -> Reading:
    """What `path` says from byte `offset` on; an absent file says nothing."""
    try:
        with path.open("rb") as file:
            before = file.read(offset).count(b"\n")
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return Reading(None, None, False, None)
    return judge(text.splitlines(), first=before + 1)


def judge(lines: list[str], first: int = 1) -> Reading:
    """The reading of a log's lines; `first` is the number of the first one."""
    phase = next((name for line in reversed(lines) for words, name in _PHASES if words in line), None)
    fatal = next((i for i, line in enumerate(lines) if _FATAL.search(line)), None)
    warning = next((line.strip() for line in lines if _SILENT.search(line)), None)
    ready = any(READY in line for line in lines)
    return Reading(phase, None if fatal is None else _failure(lines, fatal, first), ready, warning)


def _failure(lines: list[str], fatal: int, first: int) -> Failure:
    index = next((i for i in range(fatal, len(lines)) if _ERROR.match(lines[i].strip())), fatal)
    text = lines[index].strip()
    around = "\n".join(lines[fatal : index + 3])
    return Failure(text, first + index, probable_cause(around))
