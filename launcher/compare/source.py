"""Two source trees side by side: which files differ, by how many lines, and the edits as a patch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import NamedTuple

from launcher.compare.change import Change, Setting
from launcher.compare.side import Tree
from launcher.engines.manifest import Entry


class Edit(NamedTuple):
    """By how many lines a file differs."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} -{self.removed}"


def source_changes(before: Tree, after: Tree, services: tuple[str, ...], scope: str) -> tuple[Change, ...] | None:
    """The files that differ, by name, for the `services` that run them; None where one side was not recorded.

    Where the files of one side are not on this machine, the tree as a whole is the one change.
    """
    if before.digest is None or after.digest is None:
        return None
    if before.digest == after.digest:
        return ()
    old, new = before.files, after.files
    if old is None or new is None:
        ends = (Setting(digest[:12]) for digest in (before.digest, after.digest))
        return (Change("source", "", services, scope, *ends),)
    return tuple(
        Change("source", name, services, scope, _entry(old.get(name)), _entry(new.get(name)))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def touched(before: Path, after: Path, between: Iterable[Path]) -> tuple[str, ...]:
    """Files that are the same before and after and were others in between, by the manifests at these paths.

    A manifest has one file a line, and lines are compared much faster than they are parsed.
    """
    old, new = _manifest_lines(before), _manifest_lines(after)
    same, differing = old & new, {_name(line) for line in old ^ new}
    found: set[bytes] = set()
    for path in between:
        lines = _manifest_lines(path)
        found |= {_name(line) for line in (same - lines) | (lines - new - old)} - differing
    return tuple(sorted(str(json.loads(name)) for name in found))


def _manifest_lines(path: Path) -> frozenset[bytes]:
    lines = path.read_bytes().splitlines()
    return frozenset(line.rstrip(b",") for line in lines if line.startswith(b'"'))


def _name(line: bytes) -> bytes:
    return line.rpartition(b": [")[0]


def _entry(entry: Entry | None) -> Setting | None:
    if entry is None:
        return None
    kind = "link " if entry.link is not None else "executable " if entry.mode & 0o111 else ""
    return Setting(kind + entry.sha256[:12])


def edit(before: Tree, after: Tree, name: str) -> Edit | None:
    """By how many lines the file differs; None where it is no text, or cannot be read any more."""
    old, new = _lines(before, name), _lines(after, name)
    if old is None or new is None:
        return None
    # Which lines a diff takes for moved depends on the side that it starts from: always start from the same one.
    if old > new:
        removed, added = _count(new, old)
    else:
        added, removed = _count(old, new)
    return Edit(added, removed)


def patch(before: Tree, after: Tree, names: Iterable[str]) -> Iterator[str]:
    """The edits of `names` as a patch, line by line, for ``patch -p1`` in the folder of the source."""
    for name in names:
        old, new = _lines(before, name), _lines(after, name)
        if old is None or new is None:
            yield f"# {name}: no text, or not on this machine any more"
            continue
        here = f"a/{name}" if before.files and name in before.files else "/dev/null"
        there = f"b/{name}" if after.files and name in after.files else "/dev/null"
        for line in unified_diff(old, new, here, there):
            yield from _whole(line)


def _whole(line: str) -> Iterator[str]:
    yield line.removesuffix("\n")
    if not line.endswith("\n"):
        yield "\\ No newline at end of file"


def _lines(tree: Tree, name: str) -> list[str] | None:
    """The lines of a text with their ends; none of a file that this side does not have."""
    if tree.files is None or name not in tree.files:
        return []
    content = tree.read(name)
    if content is None or b"\0" in content:
        return None
    *lines, rest = content.decode(errors="surrogateescape").split("\n")  # a form feed ends no line for `patch`
    return [*(f"{line}\n" for line in lines), *([rest] if rest else [])]


def _count(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Lines added and removed; what both begin and end with is not compared, since most edits are small."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    same = sum(block.size for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks())
    return len(right) - same, len(left) - same
