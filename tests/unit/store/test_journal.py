from __future__ import annotations

import datetime as dt
import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.errors import PdlaunchError
from launcher.store import Event, Journal

TEXT = st.text(st.characters(blacklist_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.builds(
    Event,
    what=TEXT,
    by=TEXT,
    why=st.none() | TEXT,
    generation=st.none() | st.integers(1, 10**6),
    at=st.integers(0, 2**32).map(lambda seconds: dt.datetime.fromtimestamp(seconds, dt.UTC)),
    details=st.dictionaries(TEXT, VALUES, max_size=3),
)


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=4))
def test_events_come_back_in_order(events: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder, "journal.jsonl"))
        for event in events:
            journal.append(event)
        assert journal.events() == tuple(events)
        assert journal.damage() == []
        assert journal.path.read_bytes().count(b"\n") == len(events) if events else not journal.path.exists()


@settings(deadline=None)
@given(st.data())
def test_a_torn_last_line_is_mended_by_the_next_event(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder, "journal.jsonl"))
        first, second, third = (Event(what=what, by="änna") for what in ("one", "two", "three"))
        journal.append(first)
        whole = journal.path.stat().st_size
        journal.append(second)
        torn = data.draw(st.integers(whole, journal.path.stat().st_size - 1))
        os.truncate(journal.path, torn)
        kept = torn == len(journal.path.read_bytes()) and journal.events() == (first, second)
        assert journal.events() in ((first,), (first, second))
        assert journal.damage() == []
        journal.append(third)
        assert journal.events() == ((first, second, third) if kept else (first, third))
        assert journal.damage() == []


def test_a_first_line_that_was_torn_is_mended(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.path.write_bytes(b'{"what": "comm')
    assert journal.events() == ()
    journal.append(Event(what="committed", by="anna"))
    assert [event.what for event in journal.events()] == ["committed"]
    assert journal.damage() == []


def test_a_line_edited_by_hand_is_left_out_and_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    for what in ("one", "two", "three"):
        journal.append(Event(what=what, by="anna"))
    lines = journal.path.read_text().splitlines()
    journal.path.write_text("\n".join([lines[0], "edited", lines[2], ""]))
    assert [event.what for event in journal.events()] == ["one", "three"]
    assert journal.damage() == [f"{journal.path}:2: not an event"]


def test_no_journal_is_no_event(tmp_path: Path) -> None:
    assert Journal(tmp_path / "journal.jsonl").events() == ()


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(Event(what="one", by="anna"))
    before = journal.path.read_bytes()
    write = os.write

    def half(fd: int, content: bytes) -> int:
        if len(content) < 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, content[:-5])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(PdlaunchError, match="cannot write the journal: no space left on the disk") as caught:
            journal.append(Event(what="two", by="anna"))
    assert "pdlaunch prune" in str(caught.value.hint)
    assert journal.path.read_bytes() == before


def test_a_journal_in_a_group_folder_is_the_groups(tmp_path: Path) -> None:
    for mode, expected in ((0o755, 0o644), (0o2775, 0o664)):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        Journal(folder / "journal.jsonl").append(Event(what="one", by="anna"))
        assert (folder / "journal.jsonl").stat().st_mode & 0o7777 == expected
