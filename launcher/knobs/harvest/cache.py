"""Keeps a harvest beside the state of the files it was read from; one changed file, and it is read again."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from launcher.knobs.facts import EngineKnobs
from launcher.knobs.harvest.codec import decode_knobs, encode

_KEPT = 64  # a generation's snapshot is a tree of its own, so entries of trees that are gone pile up


def state_of(root: Path, files: Iterable[str]) -> str:
    """A digest of the state of `files` under `root`; a missing file counts as such."""
    return digest({file: _stat(root / file) for file in files})


def digest(files: Mapping[str, os.stat_result | None]) -> str:
    """A digest of size, times and inode of each file.

    Change time and inode catch an edit that restores size and modification time.
    """
    lines = (
        f"{file}\0{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}" if stat else f"{file}\0-"
        for file, stat in sorted(files.items())
    )
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


class Cache:
    """Harvests of one tree; `kind` tells the harvests of a tree apart. Without a directory nothing is kept."""

    def __init__(self, directory: Path | None, root: Path, kind: str) -> None:
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._path = None if directory is None else directory / f"{name}-{kind}.json"
        self._root = root

    def files(self) -> list[str] | None:
        """The files on which the kept harvest depends; None where nothing usable is kept."""
        entry = self._entry()
        return None if entry is None else entry["files"]

    def load(self, state: str | None = None) -> EngineKnobs | None:
        """The kept harvest, if it was read from that `state`: by default, from the files it names as they are now."""
        entry = self._entry()
        if entry is None:
            return None
        now = state if state is not None else state_of(self._root, entry["files"])
        return decode_knobs(entry["knobs"]) if entry["state"] == now else None

    def store(self, knobs: EngineKnobs, state: str, files: Iterable[str] = ()) -> None:
        """Keeps `knobs`; a directory that cannot be written is no reason to fail."""
        if self._path is None:
            return
        entry = {"harvester": _harvester(), "state": state, "files": sorted(files), "knobs": encode(knobs)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent, prefix=".harvest-")
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                json.dump(entry, file, separators=(",", ":"))
            Path(temporary).replace(self._path)
            self._prune(self._path.parent)
        except OSError:
            return

    def _entry(self) -> dict[str, Any] | None:
        if self._path is None:
            return None
        try:
            entry = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(entry, dict) or entry.get("harvester") != _harvester():
            return None
        return entry

    @staticmethod
    def _prune(directory: Path) -> None:
        entries = sorted(directory.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in entries[_KEPT:]:
            path.unlink(missing_ok=True)


def _harvester() -> str:
    """The state of the code that harvests: what another version of it has written is read again."""
    here = Path(__file__).parent
    return state_of(here.parent, ("facts.py", *(f"harvest/{path.name}" for path in here.glob("*.py"))))
