"""The lines of a log that is a file: each byte is read once, also when the file is rotated away."""

from __future__ import annotations

from collections import deque
from pathlib import Path


class FileLines:
    """New whole lines of a file, each with its number, from where it stood or from its start.

    It grows for weeks, so readers begin where the present start began.
    """

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self._path = path
        self._offset = 0 if from_start else _size(path)
        self._number = 0 if from_start else _count(path)
        self._inode = _inode(path)
        self._rest = b""

    def new(self) -> list[tuple[int | None, str]]:
        """What came since the last time; a rotated file is read to its end, and the one in its place from its start."""
        found: list[tuple[int | None, str]] = []
        if (now := _inode(self._path)) != self._inode:
            rotated = self._path.with_name(f"{self._path.name}.1")  # as supervisord calls it
            if _inode(rotated) == self._inode:
                found += self._read(rotated)
            self._inode, self._offset, self._number, self._rest = now, 0, 0, b""
        return [*found, *self._read(self._path)]

    def _read(self, path: Path) -> list[tuple[int | None, str]]:
        try:
            with path.open("rb") as file:
                file.seek(self._offset)
                block = file.read()
        except FileNotFoundError:
            return []
        self._offset += len(block)
        *lines, self._rest = (self._rest + block).split(b"\n")
        first = self._number + 1
        self._number += len(lines)
        return [(first + i, line.decode(errors="replace")) for i, line in enumerate(lines)]


def last_lines(path: Path, count: int) -> list[str]:
    """The last `count` lines of a file; none where it is not there."""
    if not path.exists():
        return []
    with path.open(errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=count)]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _inode(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 0


def _count(path: Path) -> int:
    """Lines that are there already, counted in blocks: a log can be large."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
