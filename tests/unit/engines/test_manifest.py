from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import launcher.engines.manifest as room
from launcher.engines.manifest import Entry, Manifest, TreeChangedError, manifest
from launcher.errors import PdlaunchError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "fork" / "sglang"
    (folder / "srt").mkdir(parents=True)
    (folder / "version.py").write_text('__version__ = "0.5.23"\n')
    (folder / "srt" / "server.py").write_text("def main(): ...\n")
    (folder / "srt" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "srt" / "run.sh").chmod(0o755)
    return folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths whose content was read."""
    seen: list[str] = []
    hash_some = room._hash_some

    def noted(files: list[room._Found]) -> dict[str, str]:
        seen.extend(item.name for item in files)
        return hash_some(files)

    monkeypatch.setattr(room, "_hash_some", noted)
    return seen


def aged(tree: Path, seconds: int = 60) -> None:
    """Give the files earlier dates."""
    for path in tree.rglob("*"):
        os.utime(path, ns=(path.stat().st_mtime_ns - seconds * 10**9,) * 2)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute has passed since the files were written."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60 * 10**9)


def test_every_file_with_hash_size_and_mode(tree: Path) -> None:
    found = manifest(tree)
    assert list(found.files) == ["srt/run.sh", "srt/server.py", "version.py"]
    assert found.files["srt/run.sh"] == Entry(hashlib.sha256(b"#!/bin/sh\n").hexdigest(), 10, 0o555)
    assert found.files["version.py"].mode == 0o444
    assert len(found.digest) == 32


def test_bytecode_and_git_are_left_out(tree: Path) -> None:
    before = manifest(tree)
    for name in ("__pycache__/version.cpython-311.pyc", "srt/old.pyc", ".git/index"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_bytes(b"x")
    assert manifest(tree) == before


def test_neither_place_nor_time_nor_permission_bits_but_execution_matter(tree: Path) -> None:
    before = manifest(tree).digest
    moved = tree.rename(tree.with_name("moved"))
    (moved / "version.py").chmod(0o600)
    aged(moved)
    assert manifest(moved).digest == before
    (moved / "version.py").chmod(0o700)
    assert manifest(moved).digest != before


@pytest.mark.parametrize(
    "edit",
    [
        lambda tree: (tree / "version.py").write_text('__version__ = "0.5.24"\n'),
        lambda tree: (tree / "version.py").rename(tree / "versions.py"),
        lambda tree: (tree / "version.py").unlink(),
        lambda tree: (tree / "new.py").touch(),
    ],
)
def test_each_edit_changes_the_digest(tree: Path, edit: Callable[[Path], object]) -> None:
    before = manifest(tree).digest
    edit(tree)
    assert manifest(tree).digest != before


def test_several_roots_get_the_names_they_are_given(tree: Path) -> None:
    found = manifest({"launcher/version.py": tree / "version.py", "launcher/srt": tree / "srt"})
    assert list(found.files) == ["launcher/srt/run.sh", "launcher/srt/server.py", "launcher/version.py"]


def test_links_inside_the_tree_stay_links(tree: Path) -> None:
    (tree / "server.py").symlink_to(tree / "srt" / "server.py")
    (tree / "srt" / "up").symlink_to("..")
    found = manifest(tree)
    assert found.files["server.py"].link == "srt/server.py"
    assert found.files["srt/up"].link == ".."
    assert Manifest.from_json(found.to_json(), tree) == found


def test_links_that_point_nowhere_or_at_bytecode_are_left_out(tree: Path) -> None:
    before = manifest(tree)
    (tree / ".#version.py").symlink_to("anna@box.4711:1")  # an editor's lock
    (tree / "__pycache__").mkdir()
    (tree / "compiled").symlink_to("__pycache__")
    assert manifest(tree) == before


def test_a_link_out_of_the_tree_is_refused(tree: Path) -> None:
    (tree.parent / "secret.py").touch()
    (tree / "out.py").symlink_to("../secret.py")
    with pytest.raises(PdlaunchError, match=r"out\.py is a link out of the source tree, to .*secret\.py") as caught:
        manifest(tree)
    assert "cp -rL" in str(caught.value.hint)


def test_a_tree_that_is_a_link_itself_is_followed(tree: Path) -> None:
    link = tree.parent / "current"
    link.symlink_to(tree.name)
    assert manifest(link) == manifest(tree)


def test_a_link_that_loops_is_said(tree: Path) -> None:
    (tree / "a").symlink_to("b")
    (tree / "b").symlink_to("a")
    with pytest.raises(PdlaunchError, match="is a link that leads back to itself"):
        manifest(tree)


def test_what_is_no_file_is_said(tree: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(tree / "s"))
        with pytest.raises(PdlaunchError, match="/s is no file, folder or link"):
            manifest(tree)


def test_a_tree_that_is_not_there_is_said(tree: Path) -> None:
    with pytest.raises(PdlaunchError, match=r"there is no .*/nowhere") as caught:
        manifest(tree / "nowhere")
    assert not isinstance(caught.value, TreeChangedError)


def test_a_file_that_may_not_be_read_is_said(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_file = os.open

    def refuse(path: str, flags: int, mode: int = 0o777) -> int:
        if path.endswith("server.py"):
            raise PermissionError(13, "Permission denied", path)
        return open_file(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PdlaunchError, match=r"cannot read .*server\.py: Permission denied"):
        manifest(tree)


def test_a_file_that_vanishes_or_changes_under_the_reader_is_said(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_file = os.open

    def meddle(action: Callable[[Path], object]) -> None:
        def meddling(path: str, flags: int, mode: int = 0o777) -> int:
            if path.endswith("version.py"):
                action(Path(path))
            return open_file(path, flags, mode)

        monkeypatch.setattr(os, "open", meddling)

    meddle(lambda path: path.write_text("changed"))
    with pytest.raises(TreeChangedError, match=r"version\.py changed while it was read"):
        manifest(tree)
    meddle(lambda path: path.unlink())
    with pytest.raises(TreeChangedError, match=r"version\.py vanished"):
        manifest(tree)


@pytest.mark.usefixtures("later")
def test_an_unchanged_tree_is_not_read_again(tree: Path, tmp_path: Path, reads: list[str]) -> None:
    first = manifest(tree, cache=tmp_path / "cache" / "hashes.json")
    assert sorted(reads) == ["srt/run.sh", "srt/server.py", "version.py"]
    reads.clear()
    assert manifest(tree, cache=tmp_path / "cache" / "hashes.json") == first
    assert reads == []


@pytest.mark.usefixtures("later")
def test_an_edit_is_read_even_with_size_and_time_put_back(tree: Path, tmp_path: Path, reads: list[str]) -> None:
    cache = tmp_path / "hashes.json"
    before = manifest(tree, cache=cache)
    path = tree / "version.py"
    stamps = path.stat()
    path.write_text(path.read_text().replace("3", "4"))
    os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    reads.clear()
    assert manifest(tree, cache=cache).digest != before.digest
    assert reads == ["version.py"]


def test_a_file_as_young_as_the_reading_is_read_again(tree: Path, tmp_path: Path, reads: list[str]) -> None:
    """It could be written again in the same tick of the clock, with the same stamps."""
    newest = max(path.stat().st_ctime_ns for path in tree.rglob("*"))
    cache = tmp_path / "hashes.json"
    for elapsed, again in ((10_000_000, 3), (30_000_000, 0)):
        with pytest.MonkeyPatch.context() as clock:
            clock.setattr(time, "time_ns", lambda now=newest + elapsed: now)
            manifest(tree, cache=cache)
        reads.clear()
        manifest(tree, cache=cache)
        assert len(reads) == again


def test_whole_seconds_need_two_of_them() -> None:
    second = 10**9
    assert room._racy((1, 5 * second, 5 * second), started=7 * second - 1)
    assert not room._racy((1, 5 * second, 5 * second), started=7 * second + 1)
    assert not room._racy((1, 5 * second + 1, 5 * second + 1), started=6 * second)


@pytest.mark.usefixtures("later")
def test_hard_links_share_what_is_remembered(tree: Path, tmp_path: Path, reads: list[str]) -> None:
    cache = tmp_path / "hashes.json"
    manifest(tree, cache=cache)
    twin = tmp_path / "twin"
    twin.mkdir()
    os.link(tree / "version.py", twin / "version.py")  # changes the inode's ctime: read once more, by either name
    reads.clear()
    manifest(twin, cache=cache)
    manifest(tree, cache=cache)
    assert reads == ["version.py"]


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("content", ["", "{", "[]", '{"boot": "earlier", "rows": {}}', '{"boot": 1}', '{"rows": 7}'])
def test_a_cache_that_is_torn_or_of_an_earlier_boot_counts_for_nothing(
    tree: Path, tmp_path: Path, reads: list[str], content: str
) -> None:
    cache = tmp_path / "hashes.json"
    manifest(tree, cache=cache)
    if "earlier" in content:
        content = json.dumps({**json.loads(cache.read_text()), "boot": "earlier"})
    cache.write_text(content)
    reads.clear()
    manifest(tree, cache=cache)
    assert len(reads) == 3


@pytest.mark.usefixtures("later")
def test_a_cache_that_cannot_be_written_is_no_error(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert manifest(tree, cache=tmp_path / "file" / "hashes.json") == manifest(tree)


@pytest.mark.usefixtures("later")
def test_the_cache_does_not_grow_with_trees_of_the_past(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "hashes.json"
    for i in range(40):
        (tree / "version.py").unlink()
        (tree / "version.py").write_text(f"{i}")
        (tree / f"kept{i}").write_text(f"{i}")
        manifest(tree, cache=cache)
    assert len(json.loads(cache.read_text())["rows"]) <= 8 * len(manifest(tree).files)


NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1)
ENTRIES = st.builds(
    Entry,
    sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
    size=st.integers(0, 2**50),
    mode=st.sampled_from([0o444, 0o555, 0o777]),
    link=st.none() | NAMES,
)


@given(st.dictionaries(NAMES, ENTRIES))
def test_a_manifest_comes_back_from_its_text(files: dict[str, Entry]) -> None:
    one = Manifest(dict(sorted(files.items())))
    assert Manifest.from_json(one.to_json(), Path("x.json")) == one


def test_names_that_are_no_utf8_survive(tree: Path) -> None:
    (tree / os.fsdecode(b"caf\xe9.py")).touch()
    found = manifest(tree)
    assert Manifest.from_json(found.to_json().encode(), tree) == found


@given(st.data())
def test_a_text_that_was_cut_or_edited_is_refused(data: st.DataObject) -> None:
    text = Manifest({"a.py": Entry("ab" * 32, 1, 0o444), "b.py": Entry("cd" * 32, 22, 0o555)}).to_json()
    cut = data.draw(st.integers(0, len(text) - 2))
    with pytest.raises(PdlaunchError, match=r"^x\.json: "):
        Manifest.from_json(text[:cut], Path("x.json"))
    with pytest.raises(PdlaunchError, match=r"^x\.json: the manifest was edited"):
        Manifest.from_json(text.replace("a.py", "c.py"), Path("x.json"))


def test_many_files_are_hashed_by_threads_with_the_same_result(tmp_path: Path) -> None:
    for i in range(100):
        (tmp_path / f"{i}.py").write_text(f"x = {i}\n")
    found = manifest(tmp_path)
    assert {name: entry.sha256 for name, entry in found.files.items()} == {
        f"{i}.py": hashlib.sha256(f"x = {i}\n".encode()).hexdigest() for i in range(100)
    }
