"""The shipped catalogue as one JSON file in the cache, so that a command does not parse YAML to look up a name."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter, ValidationError

from launcher.knobs import declaration
from launcher.knobs.catalogue import reading
from launcher.knobs.declaration import Declaration

Shipped: TypeAlias = dict[str, tuple[str, int, Declaration]]
_FORM: TypeAdapter[tuple[str, Shipped]] = TypeAdapter(tuple[str, Shipped])


class Compiled:
    """The shipped catalogue; without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / "catalogue.compiled"

    def entries(self, files: Sequence[Path]) -> Mapping[str, tuple[str, int, Declaration]]:
        """File name, line and declaration of each name in `files`; read again when a byte of them has changed."""
        texts = {path: path.read_bytes() for path in files}
        key = _key(texts)
        kept = self._load(key)
        if kept is not None:
            return kept
        found: Shipped = {}
        for path, content in texts.items():
            for name, (each, line) in reading.read(path, content.decode("utf-8")).items():
                found[name] = (path.name, line, each)
        self._store(key, found)
        return found

    def _load(self, key: str) -> Shipped | None:
        try:
            content = self._path.read_bytes() if self._path else b""
            if key.encode() not in content[: len(key) + 8]:
                return None
            return _FORM.validate_json(content)[1]
        except (OSError, ValidationError):
            return None

    def _store(self, key: str, found: Shipped) -> None:
        if self._path is None or not self._path.parent.parent.is_dir():
            return  # to look something up makes no cache where nothing else has made one
        content = _FORM.dump_json((key, found), exclude_defaults=True)
        try:
            self._path.parent.mkdir(exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent, prefix=".catalogue-")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).replace(self._path)
        except OSError:
            return  # a folder that cannot be written is no reason to fail


def _key(texts: Mapping[Path, bytes]) -> str:
    digest = hashlib.sha256()
    for code in (declaration.__file__, reading.__file__):
        digest.update(Path(str(code)).read_bytes())
    for path, content in texts.items():
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
