"""A copy of the engine's source as it was at `up`: read-only, content-addressed, shared by generations.

An edit in the checkout never reaches it: files are reflinked or copied from there, and hard-linked only from earlier
snapshots, which nobody edits.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.durable import remove_tree, replace, sync_folder, write_all
from launcher.engines.bytecode import link
from launcher.engines.manifest import Entry, Manifest, TreeChangedError, manifest
from launcher.errors import PdlaunchError

ATTEMPTS = 3
_FICLONE = 0x40049409
"""ioctl number of <linux/fs.h>: share the blocks of a file until either side is written to."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that lies on the disk, whole and verified."""

    digest: str
    path: Path
    """What PYTHONPATH names: ``into/DIGEST``."""
    files: int
    reused: int
    """Files that cost no space: already there, or hard-linked from an earlier snapshot."""
    copied: int


def snapshot(
    roots: Mapping[str, Path], into: Path, *, cache: Path | None = None, bytecode: Path | None = None
) -> Snapshot:
    """Keep the source at `roots` (relative path it gets → file or folder) as ``into/DIGEST`` with ``into/DIGEST.json``.

    With `bytecode` what Python compiles of it goes to ``bytecode/DIGEST``.

    To be called by the deployment's one writer. Killed at any point it leaves a ``*.tmp`` that the next call replaces.

    Raises:
        PdlaunchError: the source cannot be read, keeps changing (three attempts), or the disk is full.
    """
    for _ in range(ATTEMPTS):
        try:
            wanted = manifest(roots, cache=cache)
            path = into / wanted.digest
            if path.is_dir() and not verify_snapshot(into, wanted.digest, cache=cache):
                return Snapshot(wanted.digest, path, len(wanted.files), reused=len(wanted.files), copied=0)
            return _take(roots, wanted, into, cache, bytecode)
        except TreeChangedError as error:
            changed = error
    raise PdlaunchError(
        f"the engine's source keeps changing while it is copied, {ATTEMPTS} times: {changed.message}",
        hint="wait until the edit, the checkout or the sync is done, and run the same again",
    ) from changed


def verify_snapshot(into: Path, digest: str, *, cache: Path | None = None) -> list[str]:
    """What is wrong with ``into/DIGEST``, one line each; empty when it is as it was taken."""
    if not (into / digest).is_dir():
        return [f"engine snapshot {digest[:12]} is gone: {into / digest}"]
    try:
        recorded = read_manifest(into, digest)
    except PdlaunchError as error:
        return [error.message]
    present = manifest(into / digest, cache=cache)
    if present.digest == digest:
        return []
    changed = [
        (
            name,
            "is missing" if name not in present.files else "was added" if name not in recorded.files else "was edited",
        )
        for name in sorted(recorded.files.keys() | present.files.keys())
        if recorded.files.get(name) != present.files.get(name)
    ]
    return [f"engine snapshot {digest[:12]}: {name} {what}" for name, what in changed]


def read_manifest(into: Path, digest: str) -> Manifest:
    """What the snapshot held when it was taken; PdlaunchError when that record is gone or was edited."""
    path = into / f"{digest}.json"
    try:
        found = Manifest.from_json(path.read_bytes(), path)
    except OSError as error:
        raise PdlaunchError(f"cannot read {path}: {error.strerror}") from error
    if found.digest != digest:
        raise PdlaunchError(f"{path} is the manifest of another snapshot, {found.digest}")
    return found


def _take(
    roots: Mapping[str, Path], wanted: Manifest, into: Path, cache: Path | None, bytecode: Path | None
) -> Snapshot:
    """Build beside the final name, force it to the disk, then rename: the folder exists whole or not at all."""
    final, building, damaged = (into / f"{wanted.digest}{suffix}" for suffix in ("", ".tmp", ".damaged.tmp"))
    try:
        remove_tree(building)
        _make(into)
        building.mkdir()
        reused = _fill(building, roots, wanted, _newest(into, cache), bytecode and bytecode / wanted.digest)
        if manifest(roots, cache=cache).digest != wanted.digest:
            raise TreeChangedError("a file was edited, added or taken away")
        _record(into, wanted)
        _sync_filesystem(into)
        if final.exists():  # it failed its verification, else it would have been used
            remove_tree(damaged)
            final.rename(damaged)
        building.rename(final)
        sync_folder(into)
        remove_tree(damaged)
    except OSError as error:
        raise _unwritable(error, into) from error
    finally:
        with contextlib.suppress(OSError):  # half a copy must not fill a disk that is full
            remove_tree(building)
    return Snapshot(wanted.digest, final, len(wanted.files), reused=reused, copied=len(wanted.files) - reused)


def _newest(into: Path, cache: Path | None) -> dict[Entry, str]:
    """Files of the newest snapshot by what they hold now, which may be less than was recorded."""
    taken = [path for path in into.iterdir() if path.is_dir() and path.suffix != ".tmp"]
    if not taken:
        return {}
    newest = max(taken, key=lambda path: path.stat().st_mtime_ns)
    try:
        files = manifest(newest, cache=cache).files
    except PdlaunchError:  # a snapshot that cannot be read shares nothing
        return {}
    return {entry: f"{newest}/{name}" for name, entry in files.items() if entry.link is None}


def _fill(
    building: Path, roots: Mapping[str, Path], wanted: Manifest, shared: Mapping[Entry, str], bytecode: Path | None
) -> int:
    """Write every file of `wanted`, read-only; how many were hard-linked."""
    folders = sorted({parent for name in wanted.files for parent in Path(name).parents})
    for folder in folders:
        (building / folder).mkdir(exist_ok=True)
    linked = 0
    for name, entry in wanted.files.items():
        target = f"{building}/{name}"
        if entry.link is not None:
            Path(target).symlink_to(entry.link)
        elif entry in shared and _hard_link(shared[entry], target):
            linked += 1
        else:
            _copy(_source(roots, name), target, entry)
    if bytecode:
        link(building, {Path(name).parent for name in wanted.files if name.endswith(".py")}, bytecode)
    for folder in reversed(folders):
        (building / folder).chmod(0o555)
    return linked


def _source(roots: Mapping[str, Path], name: str) -> str:
    """Where the file called `name` in the snapshot comes from."""
    target = max((t for t in roots if t in {"", name} or name.startswith(f"{t}/")), key=len)
    rest = name[len(target) :].lstrip("/")
    return f"{roots[target]}/{rest}" if rest else str(roots[target])


def _hard_link(source: str, target: str) -> bool:
    """False where the file system, its limit of links or another owner forbids it."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in {errno.EPERM, errno.EACCES, errno.EMLINK, errno.EXDEV, errno.ENOENT, errno.EOPNOTSUPP}:
            return False
        raise
    return True


def _copy(source: str, target: str, entry: Entry) -> None:
    """Share the file's blocks or copy them, and hash what arrived: it must be what the manifest says."""
    try:
        reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise TreeChangedError(f"{source} vanished or was locked: {error.strerror}") from error
    writing = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        cloned = _clone(reading, writing)
        content = hashlib.sha256()
        while block := os.read(writing if cloned else reading, 1 << 20):
            content.update(block)
            if not cloned:
                write_all(writing, block)
        if content.hexdigest() != entry.sha256:
            raise TreeChangedError(f"{source} was edited")
        os.fchmod(writing, entry.mode)
        # Python's bytecode caches compare the source's time, so a snapshot taken again finds its bytecode again.
        modified = os.fstat(reading).st_mtime_ns
        os.utime(writing, ns=(modified, modified))
    finally:
        os.close(reading)
        os.close(writing)


def _clone(reading: int, writing: int) -> bool:
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM}:
            return False
        raise
    return True


def _make(into: Path) -> None:
    """Make the folder of snapshots, open to the group where the deployment's own is."""
    if into.is_dir():
        return
    into.mkdir(parents=True)
    above = into.parent.stat().st_mode
    if above & stat.S_IWGRP:
        into.chmod(stat.S_IMODE(into.stat().st_mode) | stat.S_IWGRP | above & stat.S_ISGID)


def _record(into: Path, wanted: Manifest) -> None:
    """The manifest stands there before the folder does, so that a folder is never without it."""
    replace(into / f"{wanted.digest}.json", wanted.to_json().encode(), 0o444)


def _sync_filesystem(folder: Path) -> None:
    """One syncfs(2) instead of thousands of fsync(2), which Python does not offer itself."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), os.fspath(folder))
    finally:
        os.close(fd)


def _unwritable(error: OSError, into: Path) -> PdlaunchError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return PdlaunchError(
            f"no space left for the engine snapshot in {into}; nothing was changed",
            hint=f"free some space (df -h {into}; pdlaunch prune) and run the same again",
        )
    return PdlaunchError(f"cannot write the engine snapshot below {into}: {error.strerror}", hint=f"ls -ld {into}; id")
