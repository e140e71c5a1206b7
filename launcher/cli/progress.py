"""Progress: on a terminal a last line that is redrawn, elsewhere one line an event with its time."""

from __future__ import annotations

import datetime as dt
import shutil
import sys

from launcher.cli.output import duration, last_line, note
from launcher.operations.events import Event, Report

_SUBJECT = 10
_ENDS = {"stopped": "stopping"}
"""What an event ends beside its own subject."""


def reporter() -> Report:
    """The reporter for where stderr goes."""
    return _Terminal() if sys.stderr.isatty() else _print_dated


def _print_dated(event: Event) -> None:
    if not event.passing:
        note(f"{dt.datetime.now().astimezone():%H:%M:%S}  {_line(event)}")


def _line(event: Event) -> str:
    took = f"  {duration(event.seconds)}" if event.seconds is not None else ""
    left = f"  about {duration(event.eta)} left" if event.eta else ""
    return f"{event.subject:<{_SUBJECT}} {event.text}{took}{left}"


class _Terminal:
    def __init__(self) -> None:
        self._passing: dict[str, Event] = {}

    def __call__(self, event: Event) -> None:
        """Print a lasting event for good, and what is still under way below it."""
        if event.passing:
            self._passing[event.subject] = event
        else:
            self._passing.pop(event.subject, None)
            self._passing.pop(_ENDS.get(event.subject, ""), None)
            note(_line(event))
        under_way = "  ".join(map(_short, self._passing.values()))
        last_line.draw(under_way[: shutil.get_terminal_size().columns - 1])


def _short(event: Event) -> str:
    took = f" {duration(event.seconds)}" if event.seconds is not None else ""
    left = f" (about {duration(event.eta)} left)" if event.eta else ""
    return f"{event.subject}: {event.text}{took}{left}"
