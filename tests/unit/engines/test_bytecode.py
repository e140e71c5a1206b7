"""A snapshot's bytecode lies in the cache, and only what was compiled from the same text is taken over."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.engines.bytecode import prepare
from launcher.engines.snapshot import Snapshot, snapshot


@pytest.fixture
def source(tmp_path: Path) -> Path:
    package = tmp_path / "checkout" / "engine"
    (package / "inner").mkdir(parents=True)
    texts = {"__init__.py": "# outer\n", "inner/__init__.py": "# inner\n", "inner/value.py": "VALUE = 1\n"}
    for name, text in texts.items():
        (package / name).write_text(text)
        os.utime(package / name, (1_700_000_000, 1_700_000_000))
        py_compile.compile(str(package / name))
    return package


def take(source: Path, tmp_path: Path, former: Path | None = None) -> tuple[Snapshot, int]:
    roots = {"engine": source}
    taken = snapshot(roots, tmp_path / "state", bytecode=tmp_path / "cache")
    return taken, prepare(taken.path, tmp_path / "cache" / taken.digest, roots, former)


def run(taken: Snapshot) -> str:
    code = "import engine.inner.value as v; print(v.VALUE, v.__file__)"
    environment = {"PYTHONPATH": str(taken.path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return found.stdout.split()[0]


def compiled(tmp_path: Path, taken: Snapshot) -> set[str]:
    return {path.name.split(".")[0] for path in (tmp_path / "cache" / taken.digest).rglob("*.pyc")}


def test_bytecode_is_written_to_the_cache_and_never_into_the_snapshot(source: Path, tmp_path: Path) -> None:
    for path in source.rglob("*.pyc"):
        path.unlink()
    taken, given = take(source, tmp_path)
    assert given == 0
    assert run(taken) == "1"
    assert compiled(tmp_path, taken) == {"__init__", "value"}
    assert not [path for path in taken.path.rglob("*.pyc") if not path.parent.is_symlink()]


def test_what_was_compiled_from_the_same_text_is_taken_over(source: Path, tmp_path: Path) -> None:
    taken, given = take(source, tmp_path)
    assert given == 3
    assert run(taken) == "1"


def test_what_was_compiled_in_the_second_of_an_edit_is_not(source: Path, tmp_path: Path) -> None:
    text = source / "inner" / "value.py"
    text.write_text("VALUE = 2\n")  # as long as before
    cached = next((source / "inner" / "__pycache__").glob("value.*.pyc"))
    now = int(cached.stat().st_mtime)
    os.utime(text, (now, now))
    py_compile.compile(str(text))
    text.write_text("VALUE = 3\n")
    os.utime(text, (now, now))
    os.utime(cached, (now, now))
    taken, given = take(source, tmp_path)
    assert given == 2
    assert run(taken) == "3"


def test_an_edit_leaves_the_rest_of_the_former_bytecode(source: Path, tmp_path: Path) -> None:
    first, _ = take(source, tmp_path)
    run(first)
    for path in source.rglob("*.pyc"):
        path.unlink()
    (source / "inner" / "value.py").write_text("VALUE = 4\n")
    second, given = take(source, tmp_path, former=first.path)
    assert second.digest != first.digest
    assert given == 2
    assert (run(first), run(second)) == ("1", "4")
