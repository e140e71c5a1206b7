"""How long the prompts are, and that no cache has seen them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.probe.ladder import parse, rungs
from launcher.probe.prompt import first_length, unseen


def test_prompts_have_the_exact_length_and_differ_from_the_first_tokens_on() -> None:
    prompts = [unseen(64) for _ in range(20)]
    assert {len(prompt) for prompt in prompts} == {64}
    assert len({tuple(prompt[:16]) for prompt in prompts}) == 20
    assert all(16 <= token <= 255 for prompt in prompts for token in prompt)
    assert unseen(0) == []


@pytest.mark.parametrize(
    ("chunk", "context", "asked", "length"),
    [
        (8192, None, None, 16385),
        (4096, 262144, None, 8193),
        (8192, 1024, None, 1012),
        (8192, 262144, 300, 300),
        (8192, 1024, 5000, 1012),
    ],
)
def test_the_first_prompt_crosses_two_chunks_where_the_context_holds_it(
    chunk: int, context: int | None, asked: int | None, length: int
) -> None:
    assert first_length(chunk, context, asked, room=12) == length


@pytest.mark.parametrize(
    ("top", "context", "expected"),
    [
        (64_000, 262_144, (1000, 4000, 8000, 16000, 32000, 64000)),
        (64_000, None, (1000, 4000, 8000, 16000, 32000, 64000)),
        (64_000, 8192, (1000, 4000, 8000, 8180)),
        (500, None, (500,)),
        (5_000, 262_144, (1000, 4000, 5000)),
    ],
)
def test_the_ladder_climbs_to_its_top_or_to_the_context(
    top: int, context: int | None, expected: tuple[int, ...]
) -> None:
    assert rungs(top, context, room=12) == expected


@given(st.integers(1, 2_000_000), st.none() | st.integers(100, 2_000_000))
def test_rungs_rise_and_fit(top: int, context: int | None) -> None:
    found = rungs(top, context, room=12)
    assert list(found) == sorted(set(found))
    assert found[-1] == min(top, context - 12 if context else top)


@pytest.mark.parametrize(
    ("probe", "top"),
    [("none", None), ("ladder:64k", 64_000), ("ladder:4096", 4096), ("ladder:1M", 1_000_000), ("ladder:1k", 1000)],
)
def test_the_words_of_a_profile(probe: str, top: int | None) -> None:
    assert parse(probe) == top
