"""`logs`: what the services printed, each line with its service, followed across rotations."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from launcher.operations.restart import meant
from launcher.store import Store

_POLL = 0.2
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def logs(store: Store, names: tuple[str, ...], *, lines: int, follow: bool) -> Iterator[tuple[str, str]]:
    """The last `lines` lines of each service as (service, line), then, with `follow`, new ones as they come.

    Raises InputError for a service that the deployment does not have.
    """
    numbers = store.numbers()
    current = store.current() or (numbers[-1] if numbers else None)
    chosen = meant(store.generation(current).plan, names) if current is not None else ()
    files = {name: store.layout.log(name) for name in chosen}
    ends = {name: _Follower(path) for name, path in files.items()}
    for name, path in files.items():
        yield from ((name, plain(line)) for line in _last(path, lines))
    while follow:
        quiet = True
        for name, follower in ends.items():
            for line in follower.lines():
                quiet = False
                yield name, plain(line)
        if quiet:
            time.sleep(_POLL)


def plain(line: str) -> str:
    """A line without the colours that the router writes whoever reads it."""
    return _COLOUR.sub("", line)


def _last(path: Path, lines: int) -> list[str]:
    if not path.exists():
        return []
    with path.open(errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=lines)]


class _Follower:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = path.stat().st_size if path.exists() else 0
        self._inode = path.stat().st_ino if path.exists() else 0
        self._rest = ""

    def lines(self) -> Iterator[str]:
        """New whole lines; a rotated file is read to its end, and the one in its place from its start."""
        if not self._path.exists():
            return
        if (inode := self._path.stat().st_ino) != self._inode:
            rotated = self._path.with_name(f"{self._path.name}.1")  # as supervisord calls it
            if rotated.exists() and rotated.stat().st_ino == self._inode:
                yield from self._more(rotated)
            self._inode, self._offset, self._rest = inode, 0, ""
        yield from self._more(self._path)

    def _more(self, path: Path) -> list[str]:
        with path.open("rb") as file:
            file.seek(self._offset)
            block = file.read()
        self._offset += len(block)
        *whole, self._rest = (self._rest + block.decode(errors="replace")).split("\n")
        return whole
