"""Two sections of one digest are equal, and neither is read."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from launcher.compare import Section
from launcher.compare.records import record_changes


def unread() -> Mapping[str, str]:
    pytest.fail("nobody needed to read this")


def test_equal_digests_are_equal_unread() -> None:
    assert Section("a", unread) == Section("a", unread)
    assert record_changes("package", Section("a", unread), Section("a", unread)) == ()


def test_other_digests_are_compared_by_content() -> None:
    def section(digest: str, value: str) -> Section[str]:
        return Section(digest, lambda: {"x": value})

    one, same, other = section("a", "1"), section("b", "1"), section("c", "2")
    assert one == same
    assert one == {"x": "1"}
    assert one != other
    assert [str(c) for c in record_changes("package", one, other) or ()] == ["package x  1 -> 2"]


def test_it_is_read_once() -> None:
    reads: list[int] = []

    def read() -> Mapping[str, str]:
        reads.append(1)
        return {"x": "1"}

    section = Section("a", read)
    assert (dict(section), section["x"], len(section), "y" in section) == ({"x": "1"}, "1", 1, False)
    assert reads == [1]
