from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.lock.text import read, written
from launcher.plan.model import Root

ROOTS: list[Root | None] = [None, "state", "cache", "run"]


@given(value=st.text(), root=st.sampled_from(ROOTS))
def test_every_value_comes_back(value: str, root: Root | None) -> None:
    assert read(written(value, root)) == (value, root)


@given(braces=st.integers(0, 4), root=st.sampled_from(["state", "cache", "other"]), rest=st.sampled_from(["", "/x"]))
def test_a_literal_is_never_taken_for_a_rooted_value(braces: int, root: str, rest: str) -> None:
    literal = "{" * braces + root + "}" + rest
    assert read(written(literal, None)) == (literal, None)


@pytest.mark.parametrize("text", ["{home}/x", "{state}", "{", "{}", "{state}x"])
def test_an_unknown_root_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="begins with no root that is known"):
        read(text)
