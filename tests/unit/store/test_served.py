"""The record of what was served: whole or not at all, one writer, and damage that stands in nobody's way."""

from __future__ import annotations

import datetime as dt
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.errors import PdlaunchError
from launcher.store.served import NAME, Counted, Record, Seen, Served, only_recorder, read_record, served, write_record

from .making import a_layout

THEN = dt.datetime(2026, 12, 1, 11, 46, tzinfo=dt.UTC)
ROW = Served(since=THEN, until=THEN, seconds=60.0, requests=3, longest=187_344, hangs=1, hung=THEN)


def test_nothing_was_recorded_yet(tmp_path: Path) -> None:
    assert read_record(a_layout(tmp_path)) == Record()
    assert served(a_layout(tmp_path)) == {}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    layout.state.mkdir(parents=True)
    counted = Counted(at=1.5, finished=3.0, prompts={100.0: 1.0, inf: 3.0})
    record = Record(generations={37: ROW}, boot="b", services={"decode-0": Seen(pid=4, started=9, counted=counted)})
    write_record(layout, record)
    assert read_record(layout) == record
    assert served(layout) == {37: ROW}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"generations": {"37": {"si', "is not what the watcher writes"),
        ('{"generations": {"noon": {}}}', "is not what the watcher writes"),
        ("[]", "is not what the watcher writes"),
        ('{"format": 2}', "was written by a newer pdlaunch"),
    ],
)
def test_damage_is_told_to_who_writes_and_is_nothing_to_who_reads(tmp_path: Path, text: str, says: str) -> None:
    layout = a_layout(tmp_path)
    layout.state.mkdir(parents=True)
    (layout.state / NAME).write_text(text)
    with pytest.raises(PdlaunchError, match=says):
        read_record(layout)
    assert served(layout) == {}


@given(st.binary(max_size=200))
def test_no_content_gets_through_as_something_else(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    layout = a_layout(tmp_path_factory.mktemp("served"))
    layout.state.mkdir(parents=True)
    (layout.state / NAME).write_bytes(content)
    assert served(layout) == {}


def test_only_one_records(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    with only_recorder(layout) as first, only_recorder(layout) as second:
        assert (first, second) == (True, False)
    with only_recorder(layout) as third:
        assert third
