"""Where each key of a profile stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from launcher.profile.tree import Block, KeyPath, Node, Scalar, spelled, walk


@dataclass(frozen=True, slots=True)
class Lines:
    """The line and the text of every place in a profile, addressed by its path of keys."""

    places: Mapping[KeyPath, tuple[int, Node]]

    @staticmethod
    def of(top: Node) -> Lines:
        """The places below `top`."""
        return Lines({path: (line, node) for path, line, node in walk(top)})

    def at(self, *path: str | int) -> int:
        """The line of `path`, or of the nearest key above it that is written; 1 for the top."""
        for length in range(len(path), 0, -1):
            place = self.places.get(path[:length])
            if place:
                return place[0]
        return 1

    def has(self, *path: str | int) -> bool:
        """Whether the profile says anything at `path`."""
        return path in self.places

    def is_block(self, *path: str | int) -> bool:
        """Whether a mapping stands at `path`."""
        return self.has(*path) and isinstance(self.places[path][1], Block)

    def written(self, *path: str | int) -> str | None:
        """The value at `path` as it is written, on one line; None where a mapping or nothing stands."""
        if not self.has(*path) or self.is_block(*path):
            return None
        node = self.places[path][1]
        return node.text if isinstance(node, Scalar) else spelled(node)

    def spelled(self, *path: str | int) -> str | None:
        """What stands at `path` on one line, quotes included, so that it can be written elsewhere."""
        place = self.places.get(path)
        return spelled(place[1]) if place else None
