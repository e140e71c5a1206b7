"""Where a model's files really lie, and whether a downloader may replace or remove them.

The Hugging Face cache keeps ``models--ORG--NAME/snapshots/REVISION``, whose files are links into ``blobs``, and
``refs/main`` with the revision that the name means now:
https://huggingface.co/docs/huggingface_hub/guides/manage-cache
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class InCache:
    """A model in a downloader's cache."""

    folder: Path
    """Of the model, with all its revisions."""
    revision: str
    wanted: str | None
    """What its name means now; None where that is not noted."""

    @property
    def moved(self) -> bool:
        """Whether a newer download left this revision behind."""
        return self.wanted is not None and self.wanted != self.revision


def in_cache(path: Path) -> InCache | None:
    """The place of the model at `path` in the Hugging Face cache, links followed; None for one of its own folder."""
    for place in (Path(os.path.realpath(path)), path):
        for folder in (place, *place.parents):
            if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
                model = folder.parent.parent
                return InCache(model, folder.name, _main(model))
    return None


def _main(model: Path) -> str | None:
    with contextlib.suppress(OSError):
        return (model / "refs" / "main").read_text().strip() or None
    return None


def dangling(path: Path) -> tuple[str, ...]:
    """The names below `path` that are links to nothing: blobs that somebody removed."""
    found = []
    for folder, _, names in os.walk(path):
        found += [str((Path(folder) / n).relative_to(path)) for n in names if not (Path(folder) / n).exists()]
    return tuple(sorted(found))
