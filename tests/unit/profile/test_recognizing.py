"""What tells a lock from a profile."""

from __future__ import annotations

import pytest

from launcher.profile import is_lock


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lock: 1\ndeployment: tiny\n", True),
        ("# a comment\n\nlock: 9\n", True),
        ("name: tiny\nlock: 1\n", False),
        ("", False),
    ],
)
def test_a_file_is_told_by_its_first_line(text: str, expected: bool) -> None:
    assert is_lock(text) is expected
