"""Keeps a harvest beside the state of the files it was read from; a changed file is read again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from launcher.knobs.facts import EngineKnobs
from launcher.knobs.harvest.codec import decode_knobs, encode

_KEPT = 96  # a generation's snapshot is a tree of its own, so entries of trees that are gone pile up
_PREFIX = "knobs-"


def state_of(root: Path, files: Iterable[str]) -> str:
    """A digest of the state of `files` under `root`; a missing file counts as such."""
    return digest({file: _stat(root / file) for file in files})


def digest(files: Mapping[str, os.stat_result | None]) -> str:
    """A digest of the state of each file."""
    lines = (f"{file}\0{stamp(stat)}" for file, stat in sorted(files.items()))
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def stamp(stat: os.stat_result | None) -> str:
    """A file's size, times and inode; change time and inode catch an edit that restores size and modification time."""
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}" if stat else "-"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


class Entry:
    """One kept file of JSON. Without a directory nothing is kept, and what cannot be written is not."""

    def __init__(self, directory: Path | None, root: Path, kind: str) -> None:
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._path = None if directory is None else directory / f"{_PREFIX}{name}-{kind}.json"

    def read(self) -> dict[str, Any] | None:
        """What was kept by this very version of the harvest; None where there is nothing usable."""
        if self._path is None:
            return None
        try:
            entry = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return None
        usable = isinstance(entry, dict) and entry.get("harvester") == _harvester()
        return entry if usable else None

    def write(self, entry: Mapping[str, Any]) -> None:
        """Keeps `entry`, whole or not at all."""
        if self._path is None:
            return
        folder = self._path.parent
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{_PREFIX}")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump({"harvester": _harvester(), **entry}, file, separators=(",", ":"))
                Path(temporary).replace(self._path)
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise
            for path in sorted(folder.glob(f"{_PREFIX}*.json"), key=_written, reverse=True)[_KEPT:]:
                path.unlink(missing_ok=True)


def _written(path: Path) -> int:
    stat = _stat(path)
    return stat.st_mtime_ns if stat else 0


class Cache:
    """Harvests of one tree; `kind` tells the harvests of a tree apart."""

    def __init__(self, directory: Path | None, root: Path, kind: str) -> None:
        self._entry = Entry(directory, root, kind)
        self._root = root

    def load(self, state: str | None = None) -> EngineKnobs | None:
        """The kept harvest, if it was read from that `state`: by default, from the files it names as they are now."""
        entry = self._entry.read()
        if entry is None:
            return None
        now = state if state is not None else state_of(self._root, entry["files"])
        return decode_knobs(entry["knobs"]) if entry["state"] == now else None

    def store(self, knobs: EngineKnobs, state: str, files: Iterable[str] = ()) -> None:
        """Keeps `knobs` as read from that `state`, which is that of `files`."""
        self._entry.write({"state": state, "files": sorted(files), "knobs": encode(knobs)})


def _harvester() -> str:
    """The state of the code that harvests: what another version of it has written is read again."""
    here = Path(__file__).parent
    return state_of(here.parent, ("facts.py", *(f"harvest/{path.name}" for path in here.glob("*.py"))))
