from hypothesis import given
from hypothesis import strategies as st

from launcher.simulator.cache import PrefixCache

SEQUENCE = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def common(left: list[int], right: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


@given(SEQUENCE, SEQUENCE, st.integers(1, 8))
def test_what_matches_are_whole_pages_of_the_common_prefix(kept: list[int], prompt: list[int], page: int) -> None:
    cache = PrefixCache(page, enabled=True, capacity=1000)
    cache.insert(kept)
    assert cache.match(prompt) == min(common(kept, prompt), len(prompt) - 1) // page * page


def test_the_last_token_is_always_computed() -> None:
    cache = PrefixCache(1, enabled=True, capacity=1000)
    cache.insert([1, 2, 3])
    assert cache.match([1, 2, 3]) == 2


def test_a_disabled_or_flushed_cache_knows_nothing() -> None:
    off, flushed = PrefixCache(1, enabled=False, capacity=1000), PrefixCache(1, enabled=True, capacity=1000)
    off.insert([1, 2, 3])
    flushed.insert([1, 2, 3])
    flushed.flush()
    assert (off.match([1, 2, 3]), flushed.match([1, 2, 3])) == (0, 0)


def test_the_oldest_sequences_go_when_there_are_too_many() -> None:
    cache = PrefixCache(1, enabled=True, capacity=6)
    for first in (1, 2, 3):
        cache.insert([first, 0, 0])
    assert [cache.match([first, 0, 0]) for first in (1, 2, 3)] == [0, 2, 2]
