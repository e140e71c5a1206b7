from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

import launcher.engines.snapshot as room
from launcher.engines.manifest import Entry, Manifest, manifest
from launcher.engines.snapshot import read_manifest, snapshot, verify_snapshot
from launcher.errors import PdlaunchError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "fork" / "sglang"
    (folder / "srt" / "empty").mkdir(parents=True)
    (folder / "version.py").write_text('__version__ = "0.5.23"\n')
    (folder / "srt" / "server.py").write_text("def main(): ...\n")
    (folder / "srt" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "srt" / "run.sh").chmod(0o775)
    (folder / "srt" / "link.py").symlink_to("server.py")
    return folder


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "state" / "engine"


def editable(path: Path) -> Path:
    """A file of a snapshot, made writable again as only its owner can."""
    path.parent.chmod(0o755)
    path.chmod(0o644)
    return path


def test_the_copy_is_what_the_source_was(source: Path, into: Path) -> None:
    taken = snapshot({"sglang": source}, into)
    assert taken.path == into / taken.digest
    assert (taken.files, taken.reused, taken.copied) == (4, 0, 4)
    assert manifest(taken.path) == manifest({"sglang": source}) == read_manifest(into, taken.digest)
    assert verify_snapshot(into, taken.digest) == []
    (source / "version.py").write_text("edited\n")
    assert (taken.path / "sglang" / "version.py").read_text() == '__version__ = "0.5.23"\n'


def test_the_copy_is_read_only_and_shares_no_file_with_the_source(source: Path, into: Path) -> None:
    taken = snapshot({"sglang": source}, into)
    for path in (taken.path, *taken.path.rglob("*")):
        if not path.is_symlink():
            expected = 0o555 if path.is_dir() or path.suffix == ".sh" else 0o444
            assert path.stat().st_mode & 0o7777 == expected
    assert {path.stat().st_nlink for path in taken.path.rglob("*.py")} == {1}
    assert (into / f"{taken.digest}.json").stat().st_mode & 0o7777 == 0o444


def test_times_are_kept_for_the_bytecode_cache(source: Path, into: Path) -> None:
    os.utime(source / "version.py", ns=(1, 1_700_000_000_123_456_789))
    taken = snapshot({"sglang": source}, into)
    assert (taken.path / "sglang" / "version.py").stat().st_mtime_ns == 1_700_000_000_123_456_789


def test_several_roots(source: Path, into: Path) -> None:
    taken = snapshot({"launcher/__init__.py": source / "version.py", "launcher/simulator": source / "srt"}, into)
    assert (taken.path / "launcher" / "__init__.py").read_text() == '__version__ = "0.5.23"\n'
    assert (taken.path / "launcher" / "simulator" / "run.sh").exists()
    assert not (taken.path / "launcher" / "version.py").exists()


def test_the_same_source_is_taken_once(source: Path, into: Path) -> None:
    first = snapshot({"sglang": source}, into)
    inode = (first.path / "sglang" / "version.py").stat().st_ino
    again = snapshot({"sglang": source}, into)
    assert (again.digest, again.path, again.reused, again.copied) == (first.digest, first.path, 4, 0)
    assert (again.path / "sglang" / "version.py").stat().st_ino == inode


def test_an_edit_copies_one_file_and_links_the_rest(source: Path, into: Path) -> None:
    first = snapshot({"sglang": source}, into)
    (source / "version.py").write_text("edited\n")
    second = snapshot({"sglang": source}, into)
    assert (second.reused, second.copied) == (2, 2)  # the link is made anew
    for name, shared in {"srt/server.py": True, "srt/run.sh": True, "version.py": False}.items():
        one, two = (taken.path / "sglang" / name for taken in (first, second))
        assert one.samefile(two) is shared
    assert verify_snapshot(into, first.digest) == []


def test_a_file_that_became_executable_is_not_shared(source: Path, into: Path) -> None:
    snapshot({"sglang": source}, into)
    (source / "version.py").chmod(0o755)
    second = snapshot({"sglang": source}, into)
    assert (second.path / "sglang" / "version.py").stat().st_mode & 0o7777 == 0o555


def test_an_edited_snapshot_shares_only_what_is_still_right(source: Path, into: Path) -> None:
    first = snapshot({"sglang": source}, into)
    editable(first.path / "sglang" / "srt" / "server.py").write_text("def evil(): ...\n")
    (source / "version.py").write_text("edited\n")
    second = snapshot({"sglang": source}, into)
    assert verify_snapshot(into, second.digest) == []
    assert (second.path / "sglang" / "srt" / "server.py").read_text() == "def main(): ...\n"


def test_a_damaged_snapshot_is_taken_again(source: Path, into: Path) -> None:
    first = snapshot({"sglang": source}, into)
    editable(first.path / "sglang" / "version.py").write_text("damaged\n")
    again = snapshot({"sglang": source}, into)
    assert again.digest == first.digest
    assert verify_snapshot(into, again.digest) == []
    assert sorted(path.name for path in into.iterdir()) == [again.digest, f"{again.digest}.json"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: editable(file).write_text("x"), ["sglang/version.py was edited"]),
        (lambda file: editable(file).unlink(), ["sglang/version.py is missing"]),
        (lambda file: editable(file).rename(file.with_name("v.py")), ["sglang/v.py was added", "sglang/version.py is"]),
        (lambda file: editable(file).chmod(0o755), ["sglang/version.py was edited"]),
    ],
)
def test_verifying_names_each_file(source: Path, into: Path, damage: Callable[[Path], object], said: list[str]) -> None:
    taken = snapshot({"sglang": source}, into)
    damage(taken.path / "sglang" / "version.py")
    problems = verify_snapshot(into, taken.digest)
    assert len(problems) == len(said)
    for problem, expected in zip(problems, said, strict=True):
        assert problem.startswith(f"engine snapshot {taken.digest[:12]}: {expected}")


def test_verifying_what_lost_its_record_or_itself(source: Path, into: Path) -> None:
    taken = snapshot({"sglang": source}, into)
    record = into / f"{taken.digest}.json"
    text = record.read_text()
    record.chmod(0o644)
    record.write_text(text[:100])
    assert "not a manifest (cut short or edited)" in verify_snapshot(into, taken.digest)[0]
    record.write_text(Manifest({}).to_json())
    assert "is the manifest of another snapshot" in verify_snapshot(into, taken.digest)[0]
    record.unlink()
    assert "No such file" in verify_snapshot(into, taken.digest)[0]
    assert "is gone" in verify_snapshot(into, "0" * 32)[0]


def edited_while_copied(monkeypatch: pytest.MonkeyPatch, edit: Callable[[], object], times: int) -> list[int]:
    """Let somebody edit the source just before a file is copied, `times` times."""
    copy, done = room._copy, [0]

    def meddling(origin: str, target: str, entry: Entry) -> None:
        if done[0] < times and origin.endswith("server.py"):
            done[0] += 1
            edit()
        copy(origin, target, entry)

    monkeypatch.setattr(room, "_copy", meddling)
    return done


@pytest.mark.parametrize("name", ["srt/server.py", "version.py", "new.py"])
def test_an_edit_during_the_copy_is_noticed_and_the_copy_repeated(
    source: Path, into: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    edited_while_copied(monkeypatch, lambda: (source / name).write_text("late edit\n"), times=1)
    taken = snapshot({"sglang": source}, into)
    assert (taken.path / "sglang" / name).read_text() == "late edit\n"
    assert manifest(taken.path) == manifest({"sglang": source})
    assert verify_snapshot(into, taken.digest) == []


def test_a_file_that_vanishes_during_the_copy_is_noticed(
    source: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited_while_copied(monkeypatch, (source / "srt" / "server.py").unlink, times=1)
    (source / "srt" / "link.py").unlink()
    assert snapshot({"sglang": source}, into).files == 2


def test_a_source_that_never_rests_is_given_up(source: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = iter(range(100))
    done = edited_while_copied(monkeypatch, lambda: (source / "new.py").write_text(f"{next(counter)}"), times=100)
    with pytest.raises(PdlaunchError, match="keeps changing while it is copied, 3 times"):
        snapshot({"sglang": source}, into)
    assert done == [3]
    assert list(into.iterdir()) == []


def test_a_full_disk_is_said_and_changes_nothing(source: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = snapshot({"sglang": source}, into)
    (source / "version.py").write_text("edited\n")

    def full(fd: int, block: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(PdlaunchError, match=r"no space left for the engine snapshot in .*engine") as caught:
            snapshot({"sglang": source}, into)
    assert "df -h" in str(caught.value.hint)
    assert [path for path in into.iterdir() if not path.name.startswith(first.digest)] == []
    assert verify_snapshot(into, first.digest) == []
    assert snapshot({"sglang": source}, into).copied == 2


def test_a_folder_that_cannot_be_written_is_said(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PdlaunchError, match="cannot write the engine snapshot below"):
        snapshot({"sglang": source}, tmp_path / "file")


@pytest.mark.parametrize("refusal", [errno.EPERM, errno.EMLINK, errno.EXDEV])
def test_where_hard_links_are_refused_files_are_copied(
    source: Path, into: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    snapshot({"sglang": source}, into)
    (source / "version.py").write_text("edited\n")

    def refuse(one: str, two: str) -> None:
        raise OSError(refusal, os.strerror(refusal), one)

    monkeypatch.setattr(os, "link", refuse)
    taken = snapshot({"sglang": source}, into)
    assert (taken.reused, taken.copied) == (0, 4)


def test_where_the_file_system_shares_blocks_the_clone_is_verified(
    source: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ioctl's effect, on whatever file system the tests run."""
    cloned: list[bytes] = []

    def clone(writing: int, request: int, reading: int) -> int:
        assert request == 0x40049409
        content = os.pread(reading, 1 << 20, 0)
        cloned.append(content)
        return os.pwrite(writing, content, 0) and 0

    monkeypatch.setattr(fcntl, "ioctl", clone)
    taken = snapshot({"sglang": source}, into)
    assert len(cloned) == 3
    assert verify_snapshot(into, taken.digest) == []


def test_a_refused_sync_is_said(source: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def syncfs(fd: int) -> int:
        ctypes.set_errno(errno.EIO)
        return -1

    def load(name: None, *, use_errno: bool) -> SimpleNamespace:
        return SimpleNamespace(syncfs=syncfs)

    monkeypatch.setattr(ctypes, "CDLL", load)
    with pytest.raises(PdlaunchError, match="Input/output error"):
        snapshot({"sglang": source}, into)
    assert verify_snapshot(into, manifest({"sglang": source}).digest) != []


def test_names_that_python_would_take_for_something_else(tmp_path: Path, into: Path) -> None:
    odd = tmp_path / "odd"
    names = ["a b.py", "$(x).py", "new\nline.py", os.fsdecode(b"caf\xe9.py"), "tmp", "x.tmp"]
    odd.mkdir()
    for name in names:
        (odd / name).write_text(name.encode(errors="replace").decode())
    taken = snapshot({"pkg": odd}, into)
    assert sorted(path.name for path in (taken.path / "pkg").iterdir()) == sorted(names)
    assert verify_snapshot(into, taken.digest) == []


def test_in_a_groups_folder_the_snapshots_are_the_groups(source: Path, into: Path) -> None:
    into.parent.mkdir()
    into.parent.chmod(0o2775)
    snapshot({"sglang": source}, into)
    assert into.stat().st_mode & 0o7777 == 0o2775


def test_a_root_that_is_the_whole_snapshot(source: Path, into: Path) -> None:
    roots: Mapping[str, Path] = {"": source}
    taken = snapshot(roots, into)
    assert (taken.path / "version.py").exists()
