"""A part of a record that is read only where another part differs from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

T = TypeVar("T")


class Section(Mapping[str, T]):
    """Names and values behind a digest: two sections of one digest are equal and neither is read."""

    def __init__(self, digest: str, read: Callable[[], Mapping[str, T]]) -> None:
        self.digest = digest
        self._read = read

    @cached_property
    def _content(self) -> Mapping[str, T]:
        return self._read()

    def __getitem__(self, name: str) -> T:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Section) and other.digest == self.digest:
            return True
        return super().__eq__(other)

    def __hash__(self) -> int:
        raise TypeError("a section is as unhashable as any mapping")
