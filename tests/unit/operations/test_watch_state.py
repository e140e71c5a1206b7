"""What a watcher leaves for others: whole, and only as long as it lives."""

from __future__ import annotations

import time
from pathlib import Path

from launcher.operations.watch_state import NAME, read, watched, write
from launcher.render import Layout
from launcher.watch import Finding, Service, Verdict

HANG = Finding("no-token", "decode-0", "hung", "2 requests running", 5.0)


def verdict(at: float) -> Verdict:
    return Verdict(at, 3, "hung", {"decode-0": Service("decode-0", "hung", 2, 4.0)}, (HANG,))


def layout(tmp_path: Path) -> Layout:
    return Layout(deployment="pd", state=tmp_path, cache=tmp_path, run=tmp_path)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(layout(tmp_path), watched(verdict(time.time())))
    seen = read(layout(tmp_path))
    assert seen is not None
    assert seen.fresh
    assert (seen.generation, seen.state, seen.services["decode-0"].progress) == (3, "hung", 4.0)
    assert [(f.signature, f.service, f.since) for f in seen.findings] == [("no-token", "decode-0", 5.0)]


def test_an_old_one_tells_nothing_of_now(tmp_path: Path) -> None:
    write(layout(tmp_path), watched(verdict(time.time() - 60)))
    seen = read(layout(tmp_path))
    assert seen is not None
    assert not seen.fresh


def test_what_is_no_record_is_none(tmp_path: Path) -> None:
    assert read(layout(tmp_path)) is None
    (tmp_path / NAME).write_text("{")
    assert read(layout(tmp_path)) is None
