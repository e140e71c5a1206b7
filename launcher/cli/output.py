"""What is printed: data on stdout, everything else on stderr, understandable without colour."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from launcher.cli.hints import complete
from launcher.errors import InputError, PdlaunchError, Problem
from launcher.folders import deployments
from launcher.operations.subject import subject


class LastLine:
    """The line of a terminal that is redrawn while something works; what is printed for good takes its place."""

    def __init__(self) -> None:
        self._drawn = False

    def draw(self, text: str) -> None:
        """Put `text` in place of the line; a terminal that is gone is no reason to stop."""
        try:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        except OSError:
            return
        self._drawn = bool(text)

    def clear(self) -> None:
        """Take the line away, if there is one."""
        if self._drawn:
            self.draw("")


last_line = LastLine()


def say(text: str = "") -> None:
    """A line of data, on stdout."""
    last_line.clear()
    if sys.stdout is not None:  # closed by who started us
        sys.stdout.write(text + "\n")


def note(text: str = "") -> None:
    """A line beside the data, on stderr; a terminal that is gone is no reason to stop."""
    last_line.clear()
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        return


def print_json(value: Any) -> None:
    """A reader's answer as JSON, on stdout."""
    say(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if isinstance(value, dt.date):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


def print_error(error: PdlaunchError) -> None:
    """One error: its problems, the ``error:`` line, the ``hint:`` line."""
    if isinstance(error, InputError) and error.problems:
        print_problems(error.problems)
        note(f"error: {error.message}; nothing was started or changed")
    else:
        note(f"error: {error.message}")
    if error.hint:
        hint(error.hint)


def hint(text: str, deployment: str | None = None) -> None:
    """What to type next, on stderr, about `deployment`, else about the one that the command line is about."""
    note(f"hint: {named(text, deployment)}")


def named(text: str, deployment: str | None = None) -> str:
    """`text` with its commands complete: where there are several deployments, each names its own."""
    about = deployment or subject()
    if about is None:
        return text
    return complete(text, about) if len(deployments()) > 1 else text


def print_problems(problems: Iterable[Problem]) -> None:
    """Each problem, with a blank line after it."""
    for problem in problems:
        note(str(problem))
        note()


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows below each other, columns two spaces apart; the first row is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def duration(seconds: float) -> str:
    """``1.9 s``, ``0:48``, ``1:36:00`` or ``2 d 4 h``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    if whole < 86400:
        return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{whole // 86400} d {whole // 3600 % 24} h"


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError, AttributeError):
        return None


def clock(at: dt.datetime) -> str:
    """The time of day, with the date where that is not today."""
    local = at.astimezone()
    return local.strftime("%H:%M:%S" if local.date() == dt.datetime.now().astimezone().date() else "%Y-%m-%d %H:%M:%S")


def interactive() -> bool:
    """Whether somebody can press a key."""
    return sys.stdin.isatty() and sys.stderr.isatty()
