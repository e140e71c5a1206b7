from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.store import state_dir
from launcher.store.files import in_words, make_folder, remove, remove_tree, replace, write

from .making import a_store


def test_a_file_gets_exactly_the_mode_asked_for(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write(tmp_path / "script", b"x", 0o555)
    finally:
        os.umask(before)
    assert (tmp_path / "script").stat().st_mode & 0o7777 == 0o555
    with pytest.raises(FileExistsError):
        write(tmp_path / "script", b"y", 0o555)


def test_replacing_is_a_rename_and_a_leftover_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "current"
    (tmp_path / "current.tmp").write_text("left by a crash")
    replace(path, b"1\n")
    with path.open() as reader:
        replace(path, b"2\n")
        assert reader.read() == "1\n"
    assert path.read_text() == "2\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_byte = os.write
    monkeypatch.setattr(os, "write", lambda fd, content: one_byte(fd, content[:1]))
    write(tmp_path / "file", b"all of it", 0o644)
    assert (tmp_path / "file").read_bytes() == b"all of it"


def test_a_refused_replacement_keeps_the_old_file_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(tmp_path / "current", b"1\n")

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace(tmp_path / "current", b"2\n")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("current", "1\n")]


def test_removing_what_is_not_there_is_fine(tmp_path: Path) -> None:
    remove(tmp_path / "no")
    remove_tree(tmp_path / "no")


def test_a_read_only_tree_goes_and_what_it_links_to_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "file").touch()
    (tree / "a" / "link").symlink_to(tmp_path / "kept")
    for folder in (tree / "a" / "b", tree / "a", tree):
        folder.chmod(0o555)
    remove_tree(tree)
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "link")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "kept"]


def test_folders_below_a_groups_folder_are_the_groups(tmp_path: Path) -> None:
    tmp_path.chmod(0o2775)
    make_folder(tmp_path / "a" / "b")
    assert {(tmp_path / name).stat().st_mode & 0o7777 for name in ("a", "a/b")} == {0o2775}
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "c" / "d")
    assert {(tmp_path / name).stat().st_mode & 0o7777 for name in ("c", "c/d")} == {0o755}


@pytest.mark.parametrize(
    ("number", "message", "hint"),
    [
        (errno.ENOSPC, "cannot write x: no space left on the disk that holds {place}", "pdlaunch prune"),
        (errno.EDQUOT, "cannot write x: the disk quota is used up", "pdlaunch prune"),
        (errno.EROFS, "cannot write x: {place} lies on a read-only file system", "PDLAUNCH_STATE_DIR"),
        (errno.EACCES, "cannot write x: {place}/f belongs to ", "PDLAUNCH_STATE_DIR"),
        (errno.EIO, "cannot write x: {place}/f: Input/output error", "ls -ld"),
    ],
)
def test_each_refusal_has_its_words(number: int, message: str, hint: str) -> None:
    place = state_dir() / "tiny"
    with pytest.raises(PdlaunchError) as caught, in_words("write x", place):
        raise OSError(number, os.strerror(number), str(place / "f"))
    assert caught.value.message.startswith(message.format(place=place))
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(("variable", "inside"), [("PDLAUNCH_STATE_DIR", "tiny"), ("PDLAUNCH_HOLDS_DIR", "")])
def test_the_variable_is_named_with_what_it_says(variable: str, inside: str) -> None:
    folder = Path(os.environ[variable])
    with pytest.raises(PdlaunchError) as caught, in_words("write x", folder / inside):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(folder / inside / "f"))
    assert caught.value.hint == f"remount it writable, or name another folder in {variable} (now {folder})"


def test_a_folder_of_somebody_elses_choice_has_no_variable(tmp_path: Path) -> None:
    with pytest.raises(PdlaunchError) as caught, in_words("write x", tmp_path / "profiles"):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path / "profiles" / "f"))
    assert caught.value.hint == "run it as that user or as root"


AS_NOBODY = """
import os, sys
from pathlib import Path
from launcher.errors import PdlaunchError
from launcher.render.layout import Layout
from launcher.store import Store, writer
os.setgid(65534); os.setuid(65534)
where = Path(sys.argv[1])
layout = Layout(deployment="tiny", state=where / "state" / "tiny", cache=where / "cache", run=where / "run")
store = Store(layout)
print(store.current(), store.generation(1).about.by, store.verify(1))
for change in (lambda: store.set_current(1, by="nobody"), lambda: writer(layout, "up", "nobody").__enter__()):
    try:
        change()
    except PdlaunchError as error:
        print(error.message)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_state_is_read_and_refuses_to_be_changed() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        place = Path(folder)
        place.chmod(0o755)
        store = a_store(place, generations=1)
        store.set_current(1, by="root")
        command = [sys.executable, "-c", AS_NOBODY, folder]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    state = f"{folder}/state/tiny"
    assert told == [
        "1 anna []",
        f"cannot make generation 1 the current one: {state}/current.tmp belongs to root (uid 0), "
        "and this is nobody (uid 65534)",
        f"cannot lock tiny for `up`: {state}/writer.lock belongs to root (uid 0), and this is nobody (uid 65534)",
    ]
