"""A bundle: the rendered files of one generation, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file's text and its permission bits."""

    text: str
    mode: int = 0o444


@dataclass(frozen=True, slots=True)
class Bundle:
    """Relative file name to content; the same plan and layout give the same bytes."""

    files: Mapping[str, RenderedFile] = field(default_factory=dict)

    def digests(self) -> dict[str, str]:
        """SHA-256 of each file, by name."""
        return {name: hashlib.sha256(f.text.encode()).hexdigest() for name, f in sorted(self.files.items())}
