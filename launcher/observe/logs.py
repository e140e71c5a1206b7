"""What a server's log says: how far it is, and the first error with its probable cause.

The wording is SGLang's, read in 0.5.23.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from launcher.observe.causes import probable_cause

READY = "The server is fired up and ready to roll!"

_PHASES = (
    (r"Load weight begin", "weights"),
    (r"Load weight end|KV Cache is allocated", "memory"),
    (r"Capture .*(?:CUDA|cuda) graph begin", "graphs"),
    (r"Uvicorn running on|Start of (?:pd )?disaggregation warmup|End of disaggregation warmup", "warm-up"),
    (re.escape(READY), "loaded"),
)
_FATAL = re.compile(
    r"Traceback \(most recent call last\)|Received sigquit from a child process|crashed with exit code"
    r"|^[\w ./-]{1,60}: error: |python[\d.]*: No module named|Segmentation fault|^Killed"
    r"|^\S+ \S+ ERROR: +\[Errno \d+\]"
)
"""The last is uvicorn's word for a taken port: the parent then ends its scheduler for 40 s before it goes."""
_SILENT = re.compile(r"address already in use|failed to register to bootstrap server after")
"""SGLang says these and still calls itself ready."""
_ERROR = re.compile(r"^(?:[\w.]*\.)?(?:\w*(?:Error|Exception|Exit|Interrupt)\b|\w+ERR_\w+)(?:: ?.*)?$|\S.*\berror: .*")
"""At the beginning of a line: what stands indented in a traceback is source, which may speak of errors."""
_LONGEST_TRACEBACK = 200
"""Lines after a first error in which its last line is looked for."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The first error of a log."""

    line: str
    number: int | None
    """Line number in the file, from 1; None where the log is no file."""
    cause: str | None


class Lines(Protocol):
    """Where a server's lines come from: `log_files.FileLines`, `journal.JournalLines`."""

    def new(self) -> list[tuple[int | None, str]]:
        """The whole lines that came since the last time, each with its number where it has one."""


class Tail:
    """Follows one log, and keeps what it means."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._fatal: list[tuple[int | None, str]] | None = None
        self.phase: str | None = None
        """How far the start is: weights, memory, graphs, warm-up, loaded."""
        self.failure: Failure | None = None
        """The first error that ends a start."""
        self.warning: str | None = None
        """What the engine says and then ignores, such as a taken bootstrap port."""
        self.ready = False

    def read(self) -> None:
        """Take in what was written since the last time."""
        for number, line in self._lines.new():
            self._take(number, line)

    def _take(self, number: int | None, line: str) -> None:
        self.phase = next((name for words, name in _PHASES if re.search(words, line)), self.phase)
        self.ready = self.ready or READY in line
        if self.warning is None and _SILENT.search(line):
            self.warning = line.strip()
        if self._fatal is None and _FATAL.search(line):
            self._fatal = []
        if self._fatal is not None and len(self._fatal) < _LONGEST_TRACEBACK:
            self._fatal.append((number, line.rstrip()))
            self._judge(self._fatal)

    def _judge(self, lines: list[tuple[int | None, str]]) -> None:
        """A traceback's last line is its error; until that line has come the first one stands for it."""
        number, text = next(((n, t) for n, t in lines if _ERROR.match(t)), lines[0])
        self.failure = Failure(text.strip(), number, probable_cause("\n".join(t for _, t in lines)))
