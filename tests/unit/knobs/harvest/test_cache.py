"""What is kept of a harvest, and when it is read again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from launcher.knobs import EngineKnobs, declarations, harvest
from launcher.knobs.harvest import cache as cache_module
from launcher.knobs.harvest import engine as engine_module

from ..trees import ENVIRON, engine


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on nothing may be read again."""

    def never(*_: object) -> EngineKnobs:
        raise AssertionError("read again")

    monkeypatch.setattr(engine_module, "_with_uses", never)
    monkeypatch.setattr(engine_module, "_read_declarations", never)


def test_an_unchanged_tree_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, cache = engine(tmp_path), tmp_path / "cache"
    first, declared = harvest(package, cache_dir=cache), declarations(package, cache_dir=cache)
    forbid(monkeypatch)
    assert dict(harvest(package, cache_dir=cache).env) == dict(first.env)
    assert dict(harvest(package, cache_dir=cache).flags) == dict(first.flags)
    assert declarations(package, cache_dir=cache).whole is declared.whole is False


@pytest.mark.parametrize("file", ["srt/environ.py", "srt/other.py", "kernels/new.cu"])
def test_a_changed_file_is_read_again(tmp_path: Path, file: str) -> None:
    package, cache = engine(tmp_path, {"srt/other.py": ""}), tmp_path / "cache"
    harvest(package, cache_dir=cache)
    path = package / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        (path.read_text() if path.exists() else "") + "import os\nx = os.getenv('A_B')\n// getenv(\"A_B\");\n"
    )
    path.write_text(path.read_text().replace("// ", "# ") if file.endswith(".py") else 'auto x = getenv("A_B");\n')
    assert "A_B" in harvest(package, cache_dir=cache).env


def test_an_edit_that_keeps_size_and_time_is_noticed(tmp_path: Path) -> None:
    package, cache = engine(tmp_path), tmp_path / "cache"
    environ = package / "srt" / "environ.py"
    before = environ.stat()
    assert declarations(package, cache_dir=cache).env["SGLANG_WAIT"].default == 300
    environ.write_text(ENVIRON.replace("5 * 60", "7 * 60"))
    os.utime(environ, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert environ.stat().st_size == before.st_size
    assert declarations(package, cache_dir=cache).env["SGLANG_WAIT"].default == 420


def test_a_module_that_appears_is_noticed(tmp_path: Path) -> None:
    """What a name comes from may be a file that is not there yet."""
    package, cache = engine(tmp_path), tmp_path / "cache"
    text = (package / "srt" / "server_args.py").read_text()
    text = text.replace('["one", "two"]', "NAMES").replace("import argparse", "from sglang.srt.names import NAMES", 1)
    (package / "srt" / "server_args.py").write_text(text)
    assert str(declarations(package, cache_dir=cache).flags["parser"].choices) == "<['auto'] + _names()>"
    (package / "srt" / "names.py").write_text("NAMES = ['three']\n")
    assert declarations(package, cache_dir=cache).flags["parser"].choices == ("auto", "three")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"harvester": 1}'])
def test_a_spoilt_entry_is_made_again(tmp_path: Path, content: bytes) -> None:
    package, cache = engine(tmp_path), tmp_path / "cache"
    harvest(package, cache_dir=cache)
    for entry in cache.glob("*.json"):
        entry.write_bytes(content)
    assert harvest(package, cache_dir=cache).env["SGLANG_WAIT"].default == 300
    assert all(json.loads(entry.read_bytes())["harvester"] for entry in cache.glob("*.json"))


def test_another_harvester_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, cache = engine(tmp_path), tmp_path / "cache"
    harvest(package, cache_dir=cache)
    forbid(monkeypatch)
    monkeypatch.setattr(cache_module, "_harvester", lambda: "of tomorrow")
    with pytest.raises(AssertionError, match="read again"):
        harvest(package, cache_dir=cache)


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    knobs = harvest(engine(tmp_path), cache_dir=tmp_path / "file" / "cache")
    assert knobs.env["SGLANG_WAIT"].default == 300


def test_only_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_KEPT", 3)
    for number in range(4):
        declarations(engine(tmp_path / str(number)), cache_dir=tmp_path / "cache")
    (tmp_path / "cache" / "other.json").touch()
    declarations(engine(tmp_path / "5"), cache_dir=tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("knobs-*"))) == 3
    assert (tmp_path / "cache" / "other.json").exists()
