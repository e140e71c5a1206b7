"""How things are printed: tables, durations, events with and without a terminal."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import sys
from pathlib import Path

import pytest

from launcher.cli.output import duration, interactive, last_line, note, print_json, say, table
from launcher.cli.progress import reporter
from launcher.cli.views import ranges
from launcher.operations.events import Event
from launcher.plan import Origin


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (1.94, "1.9 s"),
        (9.99, "10.0 s"),
        (10, "0:10"),
        (59.6, "1:00"),
        (3599, "59:59"),
        (3599.7, "1:00:00"),
        (5760, "1:36:00"),
        (86399.6, "1 d 0 h"),
        (187200, "2 d 4 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("numbers", "text"), [((), "-"), ((3,), "3"), ((0, 1, 2, 3), "0-3"), ((0, 2), "0,2"), ((1, 0), "1,0")]
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert ranges(numbers) == text


def test_tables_have_columns_two_spaces_apart_and_no_space_at_the_end() -> None:
    assert table([("service", "gpus"), ("decode-0", "4-7"), ("router", "")]) == (
        "service   gpus\ndecode-0  4-7\nrouter"
    )


@dataclasses.dataclass
class Thing:
    path: Path
    origin: Origin
    pair: tuple[int, ...]


def test_json_takes_models_dataclasses_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    at = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
    print_json({1: Thing(Path("/é"), Origin(kind="base"), (1, 2)), "set": {3}, "at": at})
    out = capsys.readouterr().out
    assert "/é" in out
    assert json.loads(out) == {
        "1": {"path": "/é", "origin": {"kind": "base", "file": None, "line": None, "note": None}, "pair": [1, 2]},
        "set": [3],
        "at": "2026-12-01T00:00:00+00:00",
    }


class Gone:
    """A stderr whose terminal went away."""

    def write(self, _text: str) -> int:
        raise OSError(5, "Input/output error")

    def flush(self) -> None:
        raise OSError(5, "Input/output error")

    def isatty(self) -> bool:
        return True


EVENTS = (
    Event("prefill-0", "weights", seconds=0.2, eta=20, passing=True),
    Event("decode-0", "weights", seconds=0.3, passing=True),
    Event("prefill-0", "loaded", seconds=22.4),
    Event("up", "done"),
)


def test_without_a_terminal_each_lasting_event_is_a_line_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    tell = reporter()
    for event in EVENTS:
        tell(event)
    said = capsys.readouterr()
    assert said.out == ""
    assert re.sub(r"\d\d:\d\d:\d\d", "TIME", said.err) == "TIME  prefill-0  loaded  0:22\nTIME  up         done\n"


def test_on_a_terminal_the_last_line_tells_what_is_under_way(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    tell = reporter()
    for event in EVENTS:
        tell(event)
    say("data")
    note("error: told below, not behind, what was under way")
    said = capsys.readouterr()
    assert said.out == "data\n"
    assert said.err.split("\r\x1b[K") == [
        "",
        "prefill-0: weights 0.2 s (about 0:20 left)",
        "prefill-0: weights 0.2 s (about 0:20 left)  decode-0: weights 0.3 s",
        "prefill-0  loaded  0:22\n",
        "decode-0: weights 0.3 s",
        "up         done\n",
        "decode-0: weights 0.3 s",
        "error: told below, not behind, what was under way\n",
    ]


def test_the_last_line_never_wraps(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    reporter()(EVENTS[0])
    assert capsys.readouterr().err == "\r\x1b[Kprefill-0: weights "
    last_line.clear()


def test_a_terminal_that_is_gone_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Gone())
    tell = reporter()
    for event in EVENTS:
        tell(event)
    note("nobody reads this")


def test_who_pipes_something_in_cannot_be_asked() -> None:
    assert not interactive()
