from hypothesis import given
from hypothesis import strategies as st

from launcher.simulator import tokens

IDS = st.lists(st.integers(0, tokens.VOCABULARY - 1))


@given(st.text())
def test_ids_are_of_the_vocabulary_and_repeat(text: str) -> None:
    ids = tokens.encode(text)
    assert ids == tokens.encode(text)
    assert all(0 <= token < tokens.VOCABULARY for token in ids)


def test_a_short_word_is_a_token() -> None:
    assert len(tokens.encode("word " * 100)) == 101
    assert len(tokens.encode("abcdefgh")) == 2


@given(st.lists(st.sampled_from(["a", "word", "somewhat", "3.14"]), min_size=1), st.text())
def test_a_longer_text_begins_with_the_ids_of_a_shorter_one(words: list[str], more: str) -> None:
    shorter = " ".join(words)
    ids = tokens.encode(shorter)
    assert tokens.encode(f"{shorter} x{more}")[: len(ids)] == ids


@given(IDS, IDS)
def test_other_prompts_have_other_digests(left: list[int], right: list[int]) -> None:
    assert (tokens.digest(left) == tokens.digest(right)) == (left == right)


def test_an_answer_names_its_maker_once() -> None:
    whole = tokens.decode([1, 2, 3])
    assert whole == "[simulator] sim1 sim2 sim3"
    assert tokens.decode([1]) + tokens.decode([2, 3], 1) == whole
    assert tokens.decode([]) == ""
