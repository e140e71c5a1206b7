"""Whether a model's files are all there and whole, by their headers and sizes; no weight is read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

_INDEX = "model.safetensors.index.json"
_LONGEST_HEADER = 100_000_000
"""Bytes; what safetensors itself refuses above."""
_POINTER = b"version https://git-lfs.github.com/spec/"
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "tiktoken.model", "vocab.json")


@dataclass(frozen=True, slots=True)
class Weights:
    """What lies in a model's folder."""

    path: str
    present: bool
    """False for a name that the engine looks up itself."""
    files: int
    """Weight files that are whole."""
    size: int
    """Bytes of them."""
    missing: tuple[str, ...]
    """Files that the index or the engine asks for and that are not there."""
    broken: tuple[tuple[str, str], ...]
    """Files that are not whole, and how that shows."""
    unfinished: tuple[str, ...]
    """What a download left behind."""


def weights(path: str) -> Weights:
    """Look at the model at `path`. Never raises: what cannot be read is broken, and says so."""
    folder = Path(path)
    if not folder.is_dir():
        return Weights(path, folder.exists(), 0, 0, (), (), ())
    names = sorted({*_indexed(folder), *(file.name for file in folder.glob("*.safetensors"))})
    missing = [name for name in names if not (folder / name).exists()]
    if not (folder / "config.json").exists():
        missing.append("config.json")
    if not any((folder / name).exists() for name in _TOKENIZERS):
        missing.append("a tokenizer")
    faults = {name: fault for name in names if name not in missing and (fault := _fault(folder / name))}
    if (folder / _INDEX).exists() and not _indexed(folder):
        faults[_INDEX] = "is no index of weights"
    whole = [name for name in names if name not in missing and name not in faults]
    return Weights(
        path=path,
        present=True,
        files=len(whole),
        size=sum((folder / name).stat().st_size for name in whole),
        missing=tuple(missing),
        broken=tuple(faults.items()),
        unfinished=tuple(sorted(file.name for file in folder.glob("*.incomplete"))),
    )


def _indexed(folder: Path) -> list[str]:
    """The shards that the index names."""
    try:
        shards = json.loads((folder / _INDEX).read_bytes())["weight_map"].values()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return sorted({str(name) for name in shards if "/" not in str(name)})


def _fault(file: Path) -> str | None:
    """What is wrong with a safetensors file, from its header and size; None where nothing is.

    Eight bytes of length, that many of JSON, then the tensors up to the last offset:
    https://huggingface.co/docs/safetensors/index#format.
    """
    try:
        with file.open("rb") as content:
            size = os.fstat(content.fileno()).st_size
            head = content.read(8)
            if size < 8:
                return f"is empty: {size} bytes"
            length = int.from_bytes(head, "little")
            if (head + content.read(len(_POINTER) - 8)).startswith(_POINTER):
                return "is a pointer of Git LFS: the weights were not fetched (git lfs pull)"
            content.seek(8)
            if length > min(size - 8, _LONGEST_HEADER):
                return f"is cut short: its header alone takes {length} of {size} bytes"
            header = json.loads(content.read(length))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return "has no readable header"
    wanted = 8 + length + max(ends, default=0)
    return None if size == wanted else f"has {size} bytes, but its header says {wanted}"
