from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.observe.journal import JournalLines, following, last_entries, parse
from launcher.observe.logs import Tail

from ...deployments import until


def entry(unit: str, message: object, field: str = "_SYSTEMD_UNIT") -> str:
    return json.dumps({field: unit, "MESSAGE": message})


@given(st.text())
def test_a_line_comes_through_whatever_it_holds(text: str) -> None:
    assert parse(entry("a.service", text).encode()) == ("a.service", text)
    assert parse(entry("a.service", list(text.encode())).encode()) == ("a.service", text)


def test_what_is_no_entry_is_none() -> None:
    assert parse(b"-- No entries --") is None
    assert parse(b'{"_SYSTEMD_UNIT": "a.service", "MESSAGE": null}') is None
    assert parse(entry("u.service", "x", "_SYSTEMD_USER_UNIT").encode()) == ("u.service", "x")


@pytest.fixture
def journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journalctl that prints a file and what is appended to it."""
    path = tmp_path / "bin/journalctl"
    path.parent.mkdir()
    (tmp_path / "said").touch()
    path.write_text(f'#!/bin/bash\necho "$@" > {tmp_path}/called\nexec tail -n +1 -s 0.01 -f {tmp_path}/said\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return tmp_path


def test_one_process_follows_all_units(journalctl: Path) -> None:
    with following(["a.service", "b.service"], user=False) as follower:
        a, b = JournalLines(follower, "a.service"), JournalLines(follower, "b.service")
        assert a.new() == []
        with (journalctl / "said").open("a") as said:
            said.write(entry("a.service", "one") + "\n" + entry("b.service", "two") + "\n" + '{"half')
        assert until(b.new) == [(None, "two")]
        assert (a.new(), a.new(), b.new()) == ([(None, "one")], [], [])
        called = until((journalctl / "called").read_text)
        assert "_SYSTEMD_UNIT=a.service + _SYSTEMD_UNIT=b.service --follow --no-tail --since=@" in called
    assert follower.process.returncode is not None


def test_the_first_error_of_a_journal_has_no_line_number(journalctl: Path) -> None:
    with following(["a.service"], user=True) as follower:
        tail = Tail(JournalLines(follower, "a.service"))
        lines = ["Traceback (most recent call last):", '  File "x", line 1', "ValueError: no such model"]
        with (journalctl / "said").open("a") as said:
            said.writelines(entry("a.service", line, "_SYSTEMD_USER_UNIT") + "\n" for line in lines)

        def failed() -> bool:
            tail.read()
            return tail.failure is not None and tail.failure.line.startswith("ValueError")

        until(failed)
        assert tail.failure is not None
        assert (tail.failure.line, tail.failure.number) == ("ValueError: no such model", None)


def test_the_last_lines(journalctl: Path) -> None:
    (journalctl / "bin/journalctl").write_text(
        f"#!/bin/bash\necho \"$@\" > {journalctl}/called\ncat <<< '{entry('a.service', 'x')}'\n"
    )
    assert last_entries("a.service", 5, user=False) == ["x"]
    assert (journalctl / "called").read_text().split()[-1] == "--lines=5"
