"""One side of a comparison: what a generation, a lock file or a profile says, in the same form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from launcher.compare.settings import Fingerprints
from launcher.errors import PdlaunchError
from launcher.plan.model import Plan

if TYPE_CHECKING:
    from launcher.engines.manifest import Manifest
    from launcher.profile import Loaded


class Tree(Protocol):
    """The engine's source on one side."""

    @property
    def digest(self) -> str | None:
        """Over all files; None where nobody recorded it."""

    @property
    def record(self) -> bytes | None:
        """The text of its manifest, one file a line; None where only the digest is known here."""

    @property
    def edited(self) -> Edited | None:
        """What of it is not as it was published; None where nobody recorded that."""

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where it is not there any more."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A source as what was published and the files that are others: enough to compare trees that are elsewhere."""

    base: str
    """The commit, or the version of the package."""
    files: Mapping[str, str | None]
    """SHA-256 by name; None for one that was removed."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared. A section that was not recorded is None, and is not compared."""

    label: str
    """``37``, ``noon (37)``, ``dsv4-flash.lock.yaml``."""
    plan: Plan
    tree: Tree
    packages: Mapping[str, str] | None = None
    """Distribution to version."""
    bundle: Mapping[str, str] | None = None
    """Rendered file to a digest of what matters in it."""
    receipt: Mapping[str, str] | None = None
    """What was found of the machine, by name: ``driver``, ``gpu 4``."""
    decided: Mapping[str, Mapping[str, str]] | None = None
    """Service to what its engine decided by itself when it was started, by name."""
    fingerprints: Fingerprints = field(default_factory=dict)
    written: Callable[[str], Loaded | None] = lambda _: None
    """The profile that it was made from, where that declares the knob of this name itself; read when it is asked."""

    @property
    def gpus(self) -> tuple[str, ...]:
        """What is recorded of the cards, their models among it; empty where nothing is."""
        return tuple(text for name, text in (self.receipt or {}).items() if name.startswith("gpu "))


class UnknownTree:
    """A source that is not on this machine: its digest, and what was recorded of its edits."""

    record = None

    def __init__(self, digest: str | None, edited: Edited | None = None) -> None:
        self.digest = digest
        self.edited = edited

    def read(self, name: str) -> bytes | None:  # noqa: ARG002 - nothing is here
        """None: nothing of it is here."""
        return None


class SnapshotTree:
    """A snapshot in the folder of all snapshots; its records are read when they are asked for."""

    def __init__(self, engines: Path, digest: str, edited: Callable[[], Edited | None] = lambda: None) -> None:
        self.digest = digest
        self._engines, self._edited = engines, edited

    @cached_property
    def edited(self) -> Edited | None:
        """What of it is not as it was published."""
        return self._edited()

    @cached_property
    def record(self) -> bytes:
        """Its manifest, as it was written; PdlaunchError where that is gone."""
        path = self._engines / f"{self.digest}.json"
        try:
            return path.read_bytes()
        except OSError as error:
            raise PdlaunchError(f"cannot read {path}: {error.strerror}") from error

    def read(self, name: str) -> bytes | None:
        """The content of a file of the snapshot."""
        return _content(self._engines / self.digest / name)


class CheckoutTree:
    """Source where it lies now: relative path in a snapshot to file or folder."""

    edited = None

    def __init__(self, manifest: Manifest, roots: Mapping[str, Path]) -> None:
        self.digest = manifest.digest
        self.files = manifest.files
        self._manifest, self._roots = manifest, roots

    @cached_property
    def record(self) -> bytes:
        """Its manifest, as a snapshot of it would have it."""
        return self._manifest.to_json().encode()

    def read(self, name: str) -> bytes | None:
        """The content of a file as it is now."""
        return _content(self.path(name))

    def path(self, name: str) -> Path:
        """Where a file of the tree lies."""
        root = max((r for r in self._roots if r in ("", name) or name.startswith(f"{r}/")), key=len)
        rest = name[len(root) :].lstrip("/")
        return self._roots[root] / rest if rest else self._roots[root]


def _content(path: Path) -> bytes | None:
    try:
        return str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
    except OSError:
        return None
