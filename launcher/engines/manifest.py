"""What a source tree holds: each file's hash, and one digest over all of them.

A tree that did not change is not read again: the hash is remembered by inode, size and time stamps, as in
git's index.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from launcher.errors import PdlaunchError

FORMAT = 1
SKIPPED_FOLDERS = frozenset({"__pycache__", ".git"})
SKIPPED_SUFFIX = ".pyc"
_TREES_REMEMBERED = 8
"""Rows kept of other trees, in sizes of the one just read."""

StatKey: TypeAlias = tuple[int, int, int]
"""Size, mtime and ctime in nanoseconds: as long as they stay, so does the content of that inode."""


class TreeChangedError(PdlaunchError):
    """A file changed or vanished while the tree was read."""


class Entry(NamedTuple):
    """One file of a tree."""

    sha256: str
    """Of the content; of the target's text for a link."""
    size: int
    """Bytes."""
    mode: int
    """0o444 or, where anyone may execute it, 0o555; 0o777 for a link."""
    link: str | None = None
    """Where a link inside the tree points to, relative to its own folder."""


@dataclass(frozen=True)
class Manifest:
    """Every file of a tree by its relative path, in sorted order."""

    files: Mapping[str, Entry]

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits over names, contents and the executable bit; no time stamp, owner or place."""
        total = hashlib.sha256()
        for name, entry in self.files.items():
            total.update(f"{entry.mode:o} {entry.sha256} ".encode() + os.fsencode(name) + b"\0")
        return total.hexdigest()[:32]

    def to_json(self) -> str:
        """One file a line, for people and `grep`; `from_json` reads it back."""
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(_pack(entry))}" for name, entry in self.files.items())
        return f'{{"format": {FORMAT}, "digest": "{self.digest}", "files": {{\n{lines}\n}}}}\n'

    @classmethod
    def from_json(cls, text: str | bytes, where: Path) -> Manifest:
        """The manifest that `to_json` wrote; PdlaunchError, naming `where`, when the text was cut short or edited."""
        try:
            document = json.loads(text)
            found = cls({name: _unpack(row) for name, row in document["files"].items()})
            if document["format"] == FORMAT and document["digest"] == found.digest:
                return found
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise PdlaunchError(f"{where}: not a manifest (cut short or edited): {error}") from error
        raise PdlaunchError(f"{where}: the manifest was edited, or written by a newer pdlaunch")


def _pack(entry: Entry) -> list[str | int]:
    row: list[str | int] = [entry.sha256, entry.size, f"{entry.mode:04o}"]
    return row if entry.link is None else [*row, entry.link]


def _unpack(row: list[str | int]) -> Entry:
    sha256, size, mode, *link = row
    return Entry(str(sha256), int(size), int(str(mode), 8), str(link[0]) if link else None)


def manifest(roots: Path | Mapping[str, Path], *, cache: Path | None = None) -> Manifest:
    """What lies under `roots`: one tree, or several files and folders by the relative path they are to have.

    Bytecode and ``.git`` are left out, and so are links that point nowhere (an editor's lock). A link inside the tree
    stays a link. `cache` is the file of remembered hashes, which trees may share, or None to read everything; it need
    not be writable.

    Raises:
        TreeChangedError: a file changed while it was read.
        PdlaunchError: a file cannot be read, a link loops or leaves the tree, or something is no file at all.
    """
    trees = {"": roots} if isinstance(roots, Path) else dict(roots)
    started = time.time_ns()
    found = [item for target, tree in sorted(trees.items()) for item in _walk(tree, target)]
    known = _Remembered.load(cache)
    fresh = _hash([item for item in found if item.link is None and known.get(item) is None])
    files: dict[str, Entry] = {}
    for item in sorted(found, key=lambda item: item.name):
        files[item.name] = item.entry(known.get(item) or fresh.get(item.path))
    known.save([item for item in found if item.link is None], fresh, started)
    return Manifest(files)


class _Found(NamedTuple):
    """A file as the walk saw it, before its content is read."""

    name: str
    path: str
    inode: str
    key: StatKey
    executable: bool
    link: str | None = None

    def entry(self, sha256: str | None) -> Entry:
        if self.link is not None:
            return Entry(hashlib.sha256(os.fsencode(self.link)).hexdigest(), len(self.link), 0o777, self.link)
        if sha256 is None:
            raise TreeChangedError(f"{self.path} changed while it was read")
        return Entry(sha256, self.key[0], 0o555 if self.executable else 0o444)


def _stat_key(status: os.stat_result) -> StatKey:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _walk(tree: Path, target: str) -> Iterator[_Found]:
    """Every file below `tree`, which may be a file itself, named below `target`."""
    top = os.path.realpath(tree)
    try:
        status = Path(top).stat()
        if not stat.S_ISDIR(status.st_mode):
            yield _seen(top, target, status)
            return
        folders = [(top, target)]
        while folders:
            folder, prefix = folders.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = f"{prefix}/{entry.name}" if prefix else entry.name
                    if entry.name in SKIPPED_FOLDERS:  # in a snapshot a link to where the bytecode lies
                        continue
                    if entry.is_symlink():
                        if (link := _link(entry.path, folder, top)) is not None:
                            yield _Found(name, entry.path, "", (0, 0, 0), executable=False, link=link)
                    elif entry.is_dir():
                        folders.append((entry.path, name))
                    elif not entry.name.endswith(SKIPPED_SUFFIX):
                        yield _seen(entry.path, name, entry.stat())
    except OSError as error:
        raise _unreadable(error, tree) from error


def _seen(path: str, name: str, status: os.stat_result) -> _Found:
    if not stat.S_ISREG(status.st_mode):
        raise PdlaunchError(f"{path} is no file, folder or link", hint="move it out of the engine's source")
    return _Found(name, path, f"{status.st_dev}:{status.st_ino}", _stat_key(status), bool(status.st_mode & 0o111))


def _link(path: str, folder: str, top: str) -> str | None:
    """Where the link points inside the tree, relative to its folder; None where it points nowhere or at bytecode."""
    try:
        target = os.path.realpath(path, strict=True)
    except FileNotFoundError:
        return None
    inside = os.path.relpath(target, top)
    if inside.startswith(".."):
        raise PdlaunchError(
            f"{path} is a link out of the source tree, to {target}: a snapshot could not keep that content",
            hint=f"put the content there instead of the link: cp -rL --remove-destination {target} {path}",
        )
    if SKIPPED_FOLDERS.intersection(Path(inside).parts) or target.endswith(SKIPPED_SUFFIX):
        return None
    return os.path.relpath(target, folder)


def _unreadable(error: OSError, tree: Path) -> PdlaunchError:
    path = error.filename or tree
    match error.errno:
        case errno.ENOENT if str(path) != os.path.realpath(tree):
            return TreeChangedError(f"{path} vanished while the tree was read")
        case errno.ENOENT:
            return PdlaunchError(f"there is no {tree}", hint="name the folder that holds the engine's package")
        case errno.ELOOP:
            return PdlaunchError(f"{path} is a link that leads back to itself", hint=f"rm {path}")
    return PdlaunchError(f"cannot read {path}: {error.strerror}", hint=f"see: ls -ld {path}; id")


def _hash(files: list[_Found]) -> dict[str, str]:
    """SHA-256 by path, read by several threads, since hashing holds no interpreter lock."""
    workers = min(4, os.cpu_count() or 1)
    if len(files) < 4 * workers:
        return _hash_some(files)
    from concurrent.futures import ThreadPoolExecutor  # not needed where nothing changed

    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(_hash_some, [files[i::workers] for i in range(workers)])
        return {path: sha256 for part in parts for path, sha256 in part.items()}


def _hash_some(files: list[_Found]) -> dict[str, str]:
    done = {}
    for item in files:
        try:
            fd = os.open(item.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                content = hashlib.sha256()
                while block := os.read(fd, 1 << 20):
                    content.update(block)
                after = _stat_key(os.fstat(fd))
            finally:
                os.close(fd)
        except OSError as error:
            raise _unreadable(error, Path(item.path).parent) from error
        if after != item.key:
            raise TreeChangedError(f"{item.path} changed while it was read")
        done[item.path] = content.hexdigest()
    return done


class _Remembered:
    """Hashes of earlier readings, by inode, so that hard links of one file share them.

    They count until the next boot only: after a power failure a file may lie there with its old size and time stamps
    and without its content.
    """

    def __init__(self, path: Path | None, rows: dict[str, list[int | str]]) -> None:
        self._path = path
        self._rows = rows

    @classmethod
    def load(cls, path: Path | None) -> _Remembered:
        if path is None:
            return cls(None, {})
        try:
            document = json.loads(path.read_bytes())
            return cls(path, document["rows"] if document["boot"] == _boot() else {})
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return cls(path, {})

    def get(self, item: _Found) -> str | None:
        row = self._rows.get(item.inode)
        return str(row[3]) if row is not None and row[:3] == [*item.key] else None

    def save(self, files: list[_Found], fresh: Mapping[str, str], started: int) -> None:
        """Remember what was read, except files young enough to change again under the same time stamp."""
        if self._path is None or not fresh:
            return
        rows: dict[str, list[int | str]] = {}
        for item in files:
            sha256 = self.get(item) or fresh[item.path]
            if not _racy(item.key, started):
                rows[item.inode] = [*item.key, sha256]
        if len(self._rows) < _TREES_REMEMBERED * len(rows):
            rows = self._rows | rows
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time, not correctness
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(json.dumps({"boot": _boot(), "rows": rows}))
                temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)


def _racy(key: StatKey, started: int) -> bool:
    """Whether a later write could leave the same stamps: git's rule for files as young as its index.

    File systems with whole seconds need two of them; the others stamp with the kernel's tick, 10 ms at most.
    https://git-scm.com/docs/racy-git
    """
    newest = max(key[1], key[2])
    return newest > started - (2_000_000_000 if key[2] % 1_000_000_000 == 0 else 20_000_000)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
