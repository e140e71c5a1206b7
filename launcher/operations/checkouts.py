"""The user's checkout against the snapshot that runs: edits that are not in effect, files that only look edited."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from launcher.compare import CheckoutTree, Edit, Side, differences
from launcher.errors import PdlaunchError
from launcher.operations.sides import snapshot_of
from launcher.store import Generation, Store
from launcher.store.generation import PROFILE


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file of the checkout that is another one than what runs."""

    name: str
    what: str
    """``edited``, ``added`` or ``removed``."""
    lines: Edit | None


@dataclass(frozen=True, slots=True)
class Checkout:
    """How the source where it lies now differs from what a generation runs."""

    places: tuple[Path, ...]
    edited: tuple[EditedFile, ...]
    touched: tuple[str, ...]
    """Files with the content that runs and a time stamp after the generation was written."""


def checkout(generation: Generation, store: Store) -> Checkout | None:
    """The source that `generation` was made from, as it is now; None where it has no snapshot.

    Raises PdlaunchError where the profile or the source cannot be read any more.
    """
    from launcher.engines.manifest import manifest
    from launcher.operations.facts import gather
    from launcher.profile import load

    digest = generation.seal.engine
    if digest is None:
        return None
    roots = gather(load(generation.path / PROFILE)).roots
    if not roots:
        raise PdlaunchError("the engine's source is not on this machine any more")
    place = store.layout
    now = CheckoutTree(manifest(roots, cache=place.cache / f"hashes-{place.deployment}.json"), roots)
    runs = snapshot_of(place, digest)
    sides = Side("what runs", generation.plan, runs), Side("the checkout", generation.plan, now)
    edited = tuple(
        EditedFile(
            d.change.name,
            "added" if d.change.before is None else "removed" if d.change.after is None else "edited",
            d.edit,
        )
        for d in differences(*sides).found
    )
    written = generation.about.written.timestamp()
    return Checkout(tuple(roots.values()), edited, tuple(_touched(now, written, {file.name for file in edited})))


def _touched(tree: CheckoutTree, since: float, edited: set[str]) -> Iterator[str]:
    for name in tree.files:
        with contextlib.suppress(OSError):
            if name not in edited and tree.path(name).lstat().st_mtime > since:
                yield name
