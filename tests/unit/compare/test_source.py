"""Edited files: how many lines, and a patch that `patch` applies."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.compare import Change, CheckoutTree, Edit, Edited, Setting, SnapshotTree, Tree, UnknownTree, patch
from launcher.compare.source import edit, source_changes, touched
from launcher.engines.manifest import manifest
from launcher.engines.snapshot import snapshot
from launcher.errors import PdlaunchError

from .making import TextTree

F = Change("source", "f", ("decode-0",), "decode", Setting("1"), Setting("2"))
TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\xff\x0c\n", b"end"]), max_size=12).map(b"".join)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\nb\nc\n", b"a\nx\nc\n", Edit(1, 1)),
        (b"a\n", b"a\nb\nc\n", Edit(2, 0)),
        (b"a\nb", b"a\n", Edit(0, 1)),
        (b"a\n", b"a", Edit(1, 1)),
        (b"", b"a\n", Edit(1, 0)),
        (b"a\0", b"b\0", None),
    ],
)
def test_lines_are_counted(old: bytes, new: bytes, expected: Edit | None) -> None:
    assert edit(TextTree({"f": old}), TextTree({"f": new}), F) == expected


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_counts_are_mirrored_and_add_up(old: bytes, new: bytes) -> None:
    there = edit(TextTree({"f": old}), TextTree({"f": new}), F)
    back = edit(TextTree({"f": new}), TextTree({"f": old}), F)
    assert there is not None
    assert back == Edit(there.removed, there.added)
    lines = [text.count(b"\n") + (not text.endswith(b"\n") and bool(text)) for text in (old, new)]
    assert lines[0] - there.removed + there.added == lines[1]


def test_added_removed_and_edited_files_are_told_apart() -> None:
    before, after = TextTree({"a": b"1", "b": b"1", "same": b""}), TextTree({"b": b"2", "c": b"3", "same": b""})
    found = source_changes(before, after, ("decode-0",), "decode") or ()
    assert [(c.name, c.before is None, c.after is None) for c in found] == [
        ("a", False, True),
        ("b", False, False),
        ("c", True, False),
    ]


def test_trees_that_are_elsewhere_are_compared_by_their_edits() -> None:
    one = Edited("9c1e77a00000", {"same": "a" * 64, "a": "1" * 64, "taken back": "2" * 64, "removed": None})
    other = Edited("9c1e77a00000", {"same": "a" * 64, "a": "3" * 64, "new": "4" * 64, "gone": None})
    found = source_changes(UnknownTree("e" * 32, one), UnknownTree("f" * 32, other), ("decode-0",), "decode") or ()
    assert [(c.name, *c.values) for c in found] == [
        ("a", "1" * 12, "3" * 12),
        ("gone", "as in 9c1e77a00000", "absent"),
        ("new", "as in 9c1e77a00000", "4" * 12),
        ("removed", "absent", "as in 9c1e77a00000"),
        ("taken back", "2" * 12, "as in 9c1e77a00000"),
    ]
    assert edit(UnknownTree("e" * 32, one), UnknownTree("f" * 32, other), found[0]) is None


def test_edits_of_different_bases_say_nothing_of_single_files() -> None:
    one, other = Edited("9c1e77a", {"a": "1" * 64}), Edited("bbbbbbb", {"a": "2" * 64})
    (change,) = source_changes(UnknownTree("e" * 32, one), UnknownTree("f" * 32, other), (), "") or ()
    assert (change.name, change.values) == ("", ("e" * 12, "f" * 12))


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def test_the_patch_turns_one_tree_into_the_other(tmp_path: Path) -> None:
    old = {
        "srt/a.py": b"one\ntwo\x0c\r2\nthree\n",
        "gone.py": b"x\n",
        "end.py": b"no newline",
        "latin.py": b"\xe9\nb\n",
    }
    new = {"srt/a.py": b"one\n2\nthree\n", "new.py": b"y\n", "end.py": b"no newline\n", "latin.py": b"\xe9\nc\n"}
    before, after = TextTree(old), TextTree(new)
    changes = source_changes(before, after, (), "") or ()
    text = "\n".join(patch(before, after, changes)) + "\n"
    tree = write(tmp_path / "tree", old)
    subprocess.run(["patch", "-p1", "--force"], cwd=tree, input=text.encode(errors="surrogateescape"), check=True)
    found = {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*") if p.is_file()}
    assert found == new


def test_what_is_no_text_has_a_line_in_the_patch() -> None:
    found = list(patch(TextTree({"f": b"a\0"}), TextTree({"f": b"b"}), [F]))
    assert found == ["# f: no text, or not on this machine any more"]


def test_a_snapshot_and_a_checkout_are_read_alike(tmp_path: Path) -> None:
    package = write(tmp_path / "fork", {"srt/a.py": b"1\n", "srt/b.py": b"1\n"})
    roots = {"sglang": package, "extra.py": write(tmp_path, {"e.py": b"e\n"}) / "e.py"}
    taken = snapshot(roots, tmp_path / "engines")
    runs = SnapshotTree(tmp_path / "engines", taken.digest)
    same = CheckoutTree(manifest(roots), roots)
    assert (runs.digest, runs.record) == (same.digest, same.record)
    assert {name: runs.read(name) for name in same.files} == {name: same.read(name) for name in same.files}
    (package / "srt/a.py").write_bytes(b"2\n")
    now = CheckoutTree(manifest(roots), roots)
    (change,) = source_changes(runs, now, ("decode-0",), "decode") or ()
    assert (change.name, edit(runs, now, change)) == ("sglang/srt/a.py", Edit(1, 1))
    assert now.read("extra.py") == b"e\n"
    shutil.rmtree(package)
    assert edit(runs, now, change) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [('"digest": "', '"digest": "0'), ("\n}}\n", ""), ('["', "["), (" [", " "), (': ["', ': [1, "')],
)
def test_a_manifest_that_was_edited_is_an_error_and_no_difference(tmp_path: Path, old: str, new: str) -> None:
    package = write(tmp_path / "fork", {"a.py": b"1\n"})
    taken = snapshot({"sglang": package}, tmp_path / "engines")
    record = tmp_path / "engines" / f"{taken.digest}.json"
    record.chmod(0o644)
    record.write_text(record.read_text().replace(old, new))
    with pytest.raises(PdlaunchError, match="edited"):
        source_changes(SnapshotTree(tmp_path / "engines", taken.digest), TextTree({}), (), "")


def test_a_manifest_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PdlaunchError, match="cannot read"):
        source_changes(SnapshotTree(tmp_path, "0" * 32), TextTree({}), (), "")


def test_what_was_edited_and_taken_back_is_remembered() -> None:
    first, last = TextTree({"a": b"1", "b": b"1", "c": b"1"}), TextTree({"a": b"1", "b": b"1", "c": b"4"})
    between: list[Tree] = [
        TextTree({"a": b"2", "b": b"1", "c": b"2", "d": b"new"}),
        UnknownTree("f" * 32),
        TextTree({"a": b"1", "c": b"3"}),
    ]
    assert touched(first, last, between) == ("a", "b", "d")
    assert touched(last, first, between) == ("a", "b", "d")
    assert touched(first, last, []) == ()
    assert touched(first, UnknownTree("e" * 32), between) == ()
