"""Two source trees side by side: which files differ, by how many lines, and the edits as a patch.

A manifest has one file a line, and of thousands of lines those that differ are found much faster than all are parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from launcher.compare.change import Change, Setting
from launcher.compare.side import Edited, Tree
from launcher.errors import PdlaunchError


class Edit(NamedTuple):
    """By how many lines a file differs."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} -{self.removed}"


def source_changes(before: Tree, after: Tree, services: tuple[str, ...], scope: str) -> tuple[Change, ...] | None:
    """The files that differ, by name, for the `services` that run them; None where one side was not recorded.

    Where the files of one side are not on this machine, the edits of both are compared, and where nobody recorded
    those the tree as a whole is the one change. Raises PdlaunchError for a manifest that was cut short or edited.
    """
    if before.digest is None or after.digest is None:
        return None
    if before.digest == after.digest:
        return ()
    if before.record is not None and after.record is not None:
        old, new = _lines_of(before), _lines_of(after)
        gone, come = dict(map(_entry, old - new)), dict(map(_entry, new - old))
    elif before.edited and after.edited and before.edited.base == after.edited.base:
        gone, come = _by_edits(before.edited, after.edited)
    else:
        gone, come = ({"": Setting(digest[:12])} for digest in (before.digest, after.digest))
    return tuple(
        Change("source", name, services, scope, gone.get(name), come.get(name)) for name in sorted({*gone, *come})
    )


def _by_edits(before: Edited, after: Edited) -> tuple[dict[str, Setting], dict[str, Setting]]:
    """The files that one side has edited otherwise than the other, on both sides."""
    base = Setting(f"as in {before.base}")
    sides: tuple[dict[str, Setting], dict[str, Setting]] = ({}, {})
    for name in before.files.keys() | after.files.keys():
        if before.files.get(name, base.value) != after.files.get(name, base.value):
            for edits, found in zip((before.files, after.files), sides, strict=True):
                if name not in edits:
                    found[name] = base
                elif (sha256 := edits[name]) is not None:
                    found[name] = Setting(sha256[:12])
    return sides


def touched(before: Tree, after: Tree, between: Iterable[Tree]) -> tuple[str, ...]:
    """Files that are the same before and after and were others in between."""
    if before.record is None or after.record is None:
        return ()
    old, new = _lines_of(before), _lines_of(after)
    same, differing = old & new, {_name(line) for line in old ^ new}
    found: set[bytes] = set()
    for tree in between:
        lines = _lines_of(tree) if tree.record is not None else same
        found |= {_name(line) for line in (same - lines) | (lines - new - old)} - differing
    return tuple(sorted(str(json.loads(name)) for name in found))


def _lines_of(tree: Tree) -> frozenset[bytes]:
    first, *lines = (tree.record or b"").splitlines()
    if not lines or lines[-1] != b"}}" or f'"digest": "{tree.digest}"'.encode() not in first:
        raise PdlaunchError(f"the manifest of the engine's source {tree.digest} was cut short or edited")
    return frozenset(line.rstrip(b",") for line in lines[:-1] if line)


def _name(line: bytes) -> bytes:
    return line.rpartition(b": [")[0]


def _entry(line: bytes) -> tuple[str, Setting]:
    try:
        ((name, (sha256, _, mode, *link)),) = json.loads(b"{%b}" % line).items()
        kind = "link " if link else "executable " if int(mode, 8) & 0o111 else ""
        return name, Setting(kind + sha256[:12])
    except (ValueError, TypeError, AttributeError) as error:
        raise PdlaunchError(f"a manifest of the engine's source was edited: {line[:80]!r}") from error


def edit(before: Tree, after: Tree, change: Change) -> Edit | None:
    """By how many lines the file of `change` differs; None where it is no text, or cannot be read any more."""
    old, new = _sides(before, after, change)
    if old is None or new is None:
        return None
    # Which lines a diff takes for moved depends on the side that it starts from: always start from the same one.
    if old > new:
        removed, added = _count(new, old)
    else:
        added, removed = _count(old, new)
    return Edit(added, removed)


def patch(before: Tree, after: Tree, changes: Iterable[Change]) -> Iterator[str]:
    """The edits as a patch, line by line, for ``patch -p1`` in the folder of the source."""
    from difflib import unified_diff

    for change in changes:
        old, new = _sides(before, after, change)
        if old is None or new is None:
            yield f"# {change.name}: no text, or not on this machine any more"
            continue
        here = f"a/{change.name}" if change.before else "/dev/null"
        there = f"b/{change.name}" if change.after else "/dev/null"
        for line in unified_diff(old, new, here, there):
            yield from _whole(line)


def _whole(line: str) -> Iterator[str]:
    yield line.removesuffix("\n")
    if not line.endswith("\n"):
        yield "\\ No newline at end of file"


def _sides(before: Tree, after: Tree, change: Change) -> tuple[list[str] | None, list[str] | None]:
    """The lines of both sides; none of a side that does not have the file."""
    old = _lines(before.read(change.name)) if change.before else []
    return old, _lines(after.read(change.name)) if change.after else []


def _lines(content: bytes | None) -> list[str] | None:
    """The lines of a text with their ends."""
    if content is None or b"\0" in content:
        return None
    *lines, rest = content.decode(errors="surrogateescape").split("\n")  # a form feed ends no line for `patch`
    return [*(f"{line}\n" for line in lines), *([rest] if rest else [])]


def _count(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Lines added and removed; what both begin and end with is not compared, since most edits are small."""
    from difflib import SequenceMatcher

    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    same = sum(block.size for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks())
    return len(right) - same, len(left) - same
