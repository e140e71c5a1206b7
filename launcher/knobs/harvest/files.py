"""The source files of a tree, found once each whatever the links in it."""

from __future__ import annotations

import os
from pathlib import Path

from launcher.knobs.facts import Note, Place

PYTHON = ".py"
NATIVE = (".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hip", ".hpp", ".inl", ".mm")

COMPILED = ".so"


class Listing:
    """The sources of a tree by relative path, with their state, and notes on what could not be listed."""

    def __init__(self, root: Path) -> None:
        found: dict[str, os.stat_result] = {}
        self.notes: list[Note] = []
        self._seen: set[tuple[int, int]] = set()
        self._walk(str(root), "", found)
        self.files = dict(sorted(found.items()))

    def _walk(self, folder: str, prefix: str, found: dict[str, os.stat_result]) -> None:
        try:
            state = os.stat(folder)  # noqa: PTH116  a Path for each of 800 folders takes as long as the folders
            entries = list(os.scandir(folder))
        except OSError as error:
            self.notes.append(Note(Place(prefix.rstrip("/") or ".", 1), f"cannot be read: {error.strerror}"))
            return
        if (state.st_dev, state.st_ino) in self._seen:
            self.notes.append(Note(Place(prefix.rstrip("/"), 1), "a link to a folder that is read already"))
            return
        self._seen.add((state.st_dev, state.st_ino))
        # Real folders first, so that a link never hides the place that others name.
        for entry in sorted(entries, key=lambda each: (each.is_symlink(), each.name)):
            if entry.name == "__pycache__":
                continue
            try:
                if entry.is_dir():
                    self._walk(entry.path, f"{prefix}{entry.name}/", found)
                elif entry.name.endswith((PYTHON, *NATIVE, COMPILED)):
                    found[prefix + entry.name] = entry.stat()
            except OSError as error:
                self.notes.append(Note(Place(prefix + entry.name, 1), f"cannot be read: {error.strerror}"))
