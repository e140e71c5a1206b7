"""What of an engine's source was edited: against the commit it was checked out from, or the wheel it came in."""

from __future__ import annotations

import base64
import binascii
import contextlib
import csv
import hashlib
import json
import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from launcher.durable import write_whole
from launcher.engines.manifest import SKIPPED_FOLDERS, SKIPPED_SUFFIX, Manifest

_LINK = "120000"
_BYTES = 32
"""Of a SHA-256."""
_FILES = {"100644", "100755", _LINK}
"""git's modes of what a tree holds beside folders and submodules."""


def edited(
    tree: Manifest, package: Path, commit: str | None, *, roots: Collection[str], cache: Path | None = None
) -> dict[str, str | None] | None:
    """The files of `package` (``sglang/…`` in `tree`) that are not as `commit` or the package's RECORD has them.

    By name in the tree, with their SHA-256, None for one that is gone. None where there is neither a commit nor a
    RECORD, or git cannot be asked. `roots` names the files and folders that `tree` was made of; `cache` is the file of
    remembered object names, or None.
    """
    said = _record_of(package) if commit is None else _of_commit(package, commit)
    if said is None:
        return None
    expected = {
        name: value for name, value in said.items() if any(name == r or name.startswith(f"{r}/") for r in roots)
    }
    if commit is None:
        present = {name: entry.sha256 for name, entry in tree.files.items()}
    else:
        present = _objects(tree, package, expected, cache)
    return _differing(tree, expected, present)


def record(folder: Path) -> dict[str, str]:
    """File to SHA-256 in hexadecimal, as the RECORD in this metadata folder says; empty where there is none.

    https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    found = {}
    with contextlib.suppress(OSError), (folder / "RECORD").open(newline="", encoding="utf-8") as lines:
        for row in csv.reader(lines):
            if len(row) == 3 and row[1].startswith("sha256="):
                with contextlib.suppress(binascii.Error):
                    text = row[1].removeprefix("sha256=")
                    if len(digest := base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) == _BYTES:
                        found[row[0]] = digest.hex()
    return found


def _differing(tree: Manifest, expected: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str | None]:
    names = sorted(expected.keys() | tree.files.keys())
    return {
        name: tree.files[name].sha256 if name in tree.files else None
        for name in names
        if expected.get(name) != present.get(name)
    }


def _record_of(package: Path) -> dict[str, str] | None:
    folders = sorted(package.parent.glob(f"{package.name}-*.dist-info"))
    said = record(folders[0]) if folders else {}
    inside = {name: sha256 for name, sha256 in said.items() if name.startswith(f"{package.name}/") and _kept(name)}
    return inside or None


def _kept(name: str) -> bool:
    """Whether a tree holds this file: bytecode and caches are left out of it."""
    return not name.endswith(SKIPPED_SUFFIX) and SKIPPED_FOLDERS.isdisjoint(name.split("/"))


def _of_commit(package: Path, commit: str) -> dict[str, str] | None:
    """Name in the tree to git's object name. Runs no filter, hook or monitor that the repository configures.

    A repository of another user is read all the same: this takes nothing from it but names.
    """
    command = ["git", "-c", "safe.directory=*", "-C", str(package), "ls-tree", "-r", "-z", commit, "./"]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        answer = subprocess.run(command, capture_output=True, check=True, timeout=30, env=environment)
    except (OSError, subprocess.SubprocessError):
        return None
    found = {}
    for row in answer.stdout.split(b"\0"):
        head, _, name = os.fsdecode(row).partition("\t")
        mode, _, rest = head.partition(" ")
        if mode in _FILES and _kept(name):
            found[f"{package.name}/{name}"] = rest.partition(" ")[2]
    return found


def _objects(tree: Manifest, package: Path, expected: Mapping[str, str], cache: Path | None) -> dict[str, str]:
    """git's object name of each file as it is now; by content, so that a file is read again only once it changed."""
    known = _remembered(cache)
    algorithm = "sha256" if any(len(name) == 64 for name in expected.values()) else "sha1"
    fresh: dict[str, str] = {}
    found = {}
    for name, entry in tree.files.items():
        path = package.parent / name
        if entry.link is not None:
            found[name] = _object(os.fsencode(path.readlink()), algorithm) if path.is_symlink() else ""
            continue
        key = f"{algorithm}:{entry.sha256}"
        if key not in known:
            content = path.read_bytes() if path.is_file() else b""
            if hashlib.sha256(content).hexdigest() != entry.sha256:  # edited since: it is not what the tree holds
                continue
            known[key] = fresh[key] = _object(content, algorithm)
        found[name] = known[key]
    if fresh and cache is not None:
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time, not correctness
            cache.parent.mkdir(parents=True, exist_ok=True)
            write_whole(cache, json.dumps(known))
    return found


def _object(content: bytes, algorithm: str) -> str:
    """The name that git gives to this content: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects."""
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _remembered(cache: Path | None) -> dict[str, str]:
    if cache is not None:
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(cache.read_bytes())
            if isinstance(known, dict) and all(isinstance(value, str) for value in known.values()):
                return known
    return {}
