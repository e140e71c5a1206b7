"""The recorder beside a watcher: what it keeps, when it writes, and what it never overwrites."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.operations.traffic import Recorder
from launcher.store import Event, Store
from launcher.store.served import NAME, Record, Served, served, write_record
from launcher.watch import Body, Counters, Finding, Look, Process, Server, Verdict

from ..store.making import a_store

BODY = Body(Process(4, 1, "python"), 1.0)


def seen(finished: float, tokens: float = 500.0) -> tuple[Look, Verdict]:
    now = time.monotonic()
    counters = Counters(finished=finished, prompt_tokens=finished * tokens)
    server = Server(now, BODY, "yes", counters=counters, counters_at=now)
    look = Look(now, time.time(), 1, {"decode-0": server, "prefill-0": server})
    return look, Verdict(look.time, 1, "idle", {})


@contextmanager
def recording(store: Store) -> Iterator[tuple[Recorder, list[str]]]:
    said: list[str] = []
    recorder = Recorder(store, said.append)
    try:
        yield recorder, said
    finally:
        recorder.close()


def test_it_writes_at_the_end_and_goes_on_from_there(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    for watcher in (1, 2):
        with recording(store) as (recorder, said):
            recorder(*seen(watcher))
            recorder(*seen(watcher + 1.0))
            assert said == []
    assert (served(store.layout)[1].requests, served(store.layout)[1].longest) == (2, 500), "of a pair only the decode"


def test_it_writes_each_minute_beside_the_watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = a_store(tmp_path, 1)
    monkeypatch.setattr("launcher.operations.traffic._EVERY", 0.0)
    with recording(store) as (recorder, _):
        recorder(*seen(1))
        deadline = time.monotonic() + 20
        while 1 not in served(store.layout):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_hang_is_written_at_once_since_it_decides_what_is_good(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    with recording(store) as (recorder, _):
        recorder(*seen(1))
        look, verdict = seen(1)
        finding = Finding("no-token", "decode-0", "hung", "no token for 12 s", look.time)
        recorder(look, replace(verdict, state="hung", findings=(finding,)))
        deadline = time.monotonic() + 20
        while 1 not in served(store.layout):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert served(store.layout)[1].hangs == 1


def test_an_operation_in_the_journal_begins_anew_and_a_name_does_not(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    with recording(store) as (recorder, _):
        recorder(*seen(1))
        store.journal.append(Event(what="named", by="anna", generation=1, details={"name": "noon"}))
        recorder(*seen(2))
        store.journal.append(Event(what="proved", by="anna", generation=1, details={"tokens": 8193}))
        recorder(*seen(3))
        recorder(*seen(4))
        assert recorder.record is not None
        assert recorder.record.generations[1].requests == 2


def test_what_was_pruned_is_dropped_with_the_next_write(tmp_path: Path) -> None:
    store = a_store(tmp_path, 2)
    row = Served.model_validate({"since": "2026-12-01T00:00:00Z", "until": "2026-12-01T00:00:00Z"}, strict=False)
    write_record(store.layout, Record(generations={1: row, 2: row}))
    store.remove(1, by="anna")
    with recording(store):
        pass
    assert set(served(store.layout)) == {2}


def test_a_record_that_cannot_be_read_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    path = store.layout.state / NAME
    path.write_text("torn")
    with recording(store) as (recorder, said):
        recorder(*seen(1))
    (line,) = said
    assert line.startswith(f"traffic is not recorded: {path} is not what the watcher writes: ")
    assert line.endswith(f"; traffic is recorded anew once it is moved away: mv {path} {path}.damaged")
    assert path.read_text() == "torn"


def test_a_second_watcher_records_nothing(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    with recording(store) as (first, _), recording(store) as (second, said):
        for number in (1, 2):
            first(*seen(number))
            second(*seen(number))
        assert said == ["traffic is recorded by another watcher of this deployment"]
    assert served(store.layout)[1].requests == 1


def test_a_full_disk_is_told_once_and_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = a_store(tmp_path, 1)

    def full(*_: object) -> None:
        raise PdlaunchError("no space left")

    with recording(store) as (recorder, said):
        monkeypatch.setattr("launcher.operations.traffic.write_record", full)
        recorder(*seen(1))
        recorder._write(Record())
        recorder._write(Record())
        assert said == ["traffic is not written down: no space left"]
        monkeypatch.undo()
    assert 1 in served(store.layout)
