from __future__ import annotations

from pathlib import Path

import pytest

from launcher.engines.whole import write_whole


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
