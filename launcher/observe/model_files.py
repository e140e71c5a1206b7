"""The model's files: what decides how it answers by hash, the weights by what changes when they are replaced."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from launcher.durable import write_whole
from launcher.engines.manifest import manifest
from launcher.errors import PdlaunchError
from launcher.lock.receipt import ModelFile, ModelFiles

WEIGHTS = frozenset({".safetensors", ".bin", ".pt", ".pth", ".gguf", ".npz", ".h5", ".msgpack", ".ckpt"})
LARGEST_HASHED = 64 * 1024 * 1024
"""Bytes. A tokenizer has up to 20 million; hashing that much takes a tenth of a second, once per boot."""
_FULL = "weights.json"
"""In the cache: hashes of weights that were read in full, kept over boots, since reading them again takes minutes."""


def model_files(path: str, cache: Path) -> ModelFiles:
    """The files of the model at `path`; `cache` is the folder of remembered hashes.

    A name that is no folder or file here, such as one of the Hugging Face hub, has none. Raises PdlaunchError for a
    file that cannot be read.
    """
    if not Path(path).exists():
        return ModelFiles(path=path, present=False, files={})
    found = dict(_files(Path(path)))
    small = {name: file for name, file in found.items() if not _is_weight(file)}
    hashes = manifest(small, cache=cache / "hashes-models.json").files if small else {}
    full = _remembered(cache / _FULL)
    files = {}
    for name, file in found.items():
        status = file.stat()
        if name in small:
            files[name] = ModelFile(size=status.st_size, sha256=hashes[name].sha256)
        else:
            files[name] = ModelFile(
                size=status.st_size,
                mtime_ns=status.st_mtime_ns,
                inode=status.st_ino,
                sha256=_known(full, file, status),
            )
    return ModelFiles(path=path, present=True, files=files)


def hash_weights(path: str, cache: Path, report: Callable[[str, int, int], None]) -> int:
    """Read every weight of the model at `path` in full and remember its hash; how many were read.

    One that was read before and has not changed since is not read again, also after an interruption. `report` is told
    the name, the bytes read so far and the bytes there are. Raises PdlaunchError where a file cannot be read.
    """
    weights = {name: file for name, file in _files(Path(path)) if _is_weight(file)}
    sizes = {name: file.stat().st_size for name, file in weights.items()}
    done = read = 0
    for name, file in weights.items():
        report(name, done, sum(sizes.values()))
        full = _remembered(cache / _FULL)
        if _known(full, file, file.stat()) is None:
            key, row = _hashed(file)
            with contextlib.suppress(OSError):
                cache.mkdir(parents=True, exist_ok=True)
                write_whole(cache / _FULL, json.dumps(full | {key: row}, indent=0))
            read += 1
        done += sizes[name]
    return read


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Every file by its name below `path`, sorted; hidden ones are a downloader's own."""
    if path.is_file():
        yield path.name, path
        return
    for folder, folders, names in os.walk(path, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder) / name
            if not name.startswith(".") and file.is_file():
                yield str(file.relative_to(path)), file


def _is_weight(file: Path) -> bool:
    return file.suffix in WEIGHTS or file.stat().st_size > LARGEST_HASHED


def _hashed(file: Path) -> tuple[str, list[Any]]:
    try:
        with file.open("rb") as content:
            before = os.fstat(content.fileno())
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            after = os.fstat(content.fileno())
    except OSError as error:
        raise PdlaunchError(f"cannot read {file}: {error.strerror}", hint=f"ls -l {file}; id") from None
    if _stamp(before) != _stamp(after):
        raise PdlaunchError(f"{file} changed while it was read", hint="wait until the download is done")
    return os.path.realpath(file), [*_stamp(after), sha256]


def _known(full: Mapping[str, Any], file: Path, status: os.stat_result) -> str | None:
    """The hash of a weight as it was read in full, where nothing of it changed since."""
    row = full.get(os.path.realpath(file))
    return str(row[-1]) if isinstance(row, list) and row[:-1] == _stamp(status) else None


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _remembered(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        rows = json.loads(path.read_bytes())
        if isinstance(rows, dict):
            return rows
    return {}
