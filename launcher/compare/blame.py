"""Which generation brought a value: the one that began the unbroken run of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol

from launcher.compare.change import Change
from launcher.errors import PdlaunchError


class Past(Protocol):
    """A recorded state that can be asked for single values."""

    @property
    def number(self) -> int:
        """The generation."""

    def value(self, change: Change) -> Hashable:
        """What `change` is about, as it was then; raises PdlaunchError where that generation cannot be read."""


def brought(changes: Sequence[Change], newest: Past, older: Iterable[Past]) -> Mapping[Change, int]:
    """The generation that brought the value that each change has in `newest`; pure.

    `older` come newest first; no more of them are asked than it takes. One that cannot be read is passed over.
    """
    since = dict.fromkeys(changes, newest.number)
    wanted = {change: newest.value(change) for change in changes}
    for past in older:
        if not wanted:
            break
        for change in tuple(wanted):
            try:
                same = past.value(change) == wanted[change]
            except PdlaunchError:
                continue
            if same:
                since[change] = past.number
            else:
                del wanted[change]
    return since
