"""Where a snapshot's bytecode goes: a cache folder, reached through links, so that the snapshot itself never changes.

PYTHONPYCACHEPREFIX would do the same for every package of the environment as well and compile all of torch anew. So
each folder of a snapshot has a ``__pycache__`` that links to its twin in the cache, and the twin starts with what was
compiled before, as far as that was compiled from the very same text.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

CACHE = "__pycache__"
_HEADER = struct.Struct("<4sIII")
"""PEP 552: magic, flags, the source's time in seconds, its size; flags 0 is a file checked by time and size."""


def link(snapshot: Path, folders: Iterable[Path], place: Path) -> None:
    """Give every one of `folders` (relative) its ``__pycache__``; to be called while the snapshot is being built."""
    for folder in folders:
        (snapshot / folder / CACHE).symlink_to(place / folder)


def prepare(snapshot: Path, place: Path, roots: Mapping[str, Path], former: Path | None) -> int:
    """Make the cache folders of `snapshot` below `place` and fill the new ones; how many files they were given.

    `roots` is where the snapshot was taken from (its relative name to folder or file), `former` an earlier snapshot.
    What is taken over was compiled from the text that the snapshot holds: the time and size in its header are those of
    the file, and it was compiled in a later second, or the file is hard-linked to the former snapshot's.
    """
    if place.is_dir():
        return 0
    given = 0
    temporary = place.with_name(f"{place.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    for cache in _caches(snapshot):
        folder = cache.parent.relative_to(snapshot)
        target = temporary / folder
        target.mkdir(parents=True, exist_ok=True)
        given += _take_over(cache.parent, target, _source(roots, folder), former / folder if former else None)
    temporary.mkdir(parents=True, exist_ok=True)
    temporary.rename(place)
    return given


def _caches(snapshot: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(snapshot):
        cache = Path(folder) / CACHE
        if cache.is_symlink():
            yield cache


def _source(roots: Mapping[str, Path], folder: Path) -> Path | None:
    """Where `folder` of the snapshot was taken from."""
    for name, root in roots.items():
        if folder == Path(name) or Path(name) in folder.parents:
            return root / folder.relative_to(name)
    return None


def _take_over(folder: Path, target: Path, source: Path | None, former: Path | None) -> int:
    taken = 0
    for origin, same_text in ((former, _hard_linked), (source, _compiled_later)):
        for compiled in sorted((origin / CACHE).glob("*.pyc")) if origin else ():
            text = folder / f"{compiled.name.split('.')[0]}.py"
            if (target / compiled.name).exists() or origin is None:
                continue
            with contextlib.suppress(OSError):  # what cannot be taken over is compiled
                if _fits(compiled, text) and same_text(compiled, text, origin / text.name):
                    _copy(compiled, target / compiled.name)
                    taken += 1
    return taken


def _fits(compiled: Path, text: Path) -> bool:
    with compiled.open("rb") as file:
        _, flags, seconds, size = _HEADER.unpack(file.read(_HEADER.size))
    status = text.stat()
    return bool(flags == 0 and seconds == int(status.st_mtime) & 0xFFFFFFFF and size == status.st_size & 0xFFFFFFFF)


def _hard_linked(_compiled: Path, text: Path, before: Path) -> bool:
    return text.samefile(before)


def _compiled_later(compiled: Path, text: Path, _before: Path) -> bool:
    """An edit in the second of the compilation that keeps the size would not show in the header."""
    return int(compiled.stat().st_mtime) > int(text.stat().st_mtime)


def _copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
