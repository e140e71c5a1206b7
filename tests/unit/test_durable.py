from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from launcher.durable import replace, write_whole


def test_the_former_content_stays_until_the_new_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it"
    write_whole(path, "old")

    def full(_descriptor: int) -> None:
        assert path.read_text() == "old"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["it"]


def test_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    write_whole(tmp_path / "it", "old")
    write_whole(tmp_path / "it", "new\n")
    assert (tmp_path / "it").read_text() == "new\n"


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as living, subprocess.Popen(["true"]) as ended:
        ended.wait()
        for pid in (living.pid, ended.pid):
            (tmp_path / f".it.{pid}").write_text("half")
        write_whole(tmp_path / "it", "new")
        assert {path.name for path in tmp_path.iterdir()} == {"it", f".it.{living.pid}"}
        living.kill()


def test_the_only_writer_begins_anew_over_what_was_left(tmp_path: Path) -> None:
    (tmp_path / "it.tmp").write_text("half")
    replace(tmp_path / "it", b"new", 0o640)
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [("it", 0o640)]
