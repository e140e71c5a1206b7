"""Whatever the bytes, a profile is read or refused; whatever the text, it arrives unchanged."""

from __future__ import annotations

import datetime as dt
import json
import re
import string
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.profile import examine, load, seconds, tokens, waive
from launcher.profile.scalars import becomes

HEAD = "name: x\nengine: {kind: cpu}\nprefill: {}\nrouter: {port: 8000}\n"
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

# What any process can be given: no NUL, no half of a surrogate pair.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
GRAMMAR = """
name model engine prefill decode aggregated router transfer ready stop restart watch knobs allow backend path venv kind
gpus tp dp ep port bootstrap_port metrics_port replicas args env secrets within prompt probe drain kill tries on_hang
after times safe bad what why by until host
true no ~ 0-3 0 -1 1:30 0755 2026-12-01 9999999999 sglang cpu nixl 64k 90s [] {} & * << x-y X_Y a://b
"""
WORDS = st.sampled_from(re.findall(r"\S+", GRAMMAR))
TREES = st.recursive(
    WORDS | st.integers() | st.booleans() | st.none() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | TEXT, inner, max_size=6),
    max_leaves=25,
)


def ends_well(path: Path) -> None:
    """Read or refused: nothing else, and each problem with its place."""
    try:
        problems = examine(path).problems
    except InputError as error:
        problems = error.problems
        assert (error.exit_code, len(problems)) == (2, 1)  # noqa: PT017  what matters is that nothing else is raised
    assert all(problem.where.startswith(str(path)) and problem.error for problem in problems)
    assert all(line.isprintable() for problem in problems for line in problem.subject.splitlines())


@FILES
@given(st.binary(max_size=400))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.yaml").write_bytes(data)
    ends_well(tmp_path / "x.yaml")


@FILES
@given(st.text(st.sampled_from(string.printable + "äé€\u00a0😀"), max_size=300))
def test_any_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8", newline="")
    ends_well(tmp_path / "x.yaml")


@FILES
@given(TREES)
def test_any_yaml_of_the_words_of_the_grammar(tmp_path: Path, tree: object) -> None:
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(tree, allow_unicode=True), encoding="utf-8")
    ends_well(tmp_path / "x.yaml")


@FILES
@given(st.lists(st.sampled_from(["A", "B", "C", "D"]), min_size=1, max_size=8))
def test_duplicates_are_always_found(tmp_path: Path, names: list[str]) -> None:
    lines = "".join(f"    {name}: {index}\n" for index, name in enumerate(names))
    (tmp_path / "x.yaml").write_text(f"{HEAD}decode:\n  env:\n{lines}", encoding="utf-8")
    twice = [problem for problem in examine(tmp_path / "x.yaml").problems if "stands twice" in problem.error]
    assert len(twice) == len(names) - len(set(names))


@FILES
@given(TEXT)
@pytest.mark.parametrize("section", ["env", "args"])
def test_quoted_text_arrives_unchanged(tmp_path: Path, section: str, text: str) -> None:
    (tmp_path / "x.yaml").write_text(f"{HEAD}decode: {{{section}: {{NAME: {json.dumps(text)}}}}}\n", encoding="utf-8")
    decode = load(tmp_path / "x.yaml").profile.decode
    assert decode is not None
    assert getattr(decode, section)["NAME"] == text


@FILES
@given(st.from_regex(r"[A-Za-z0-9./_+-][A-Za-z0-9./_+,=:-]{0,20}", fullmatch=True))
def test_an_unquoted_word_arrives_unchanged_or_is_refused(tmp_path: Path, word: str) -> None:
    (tmp_path / "x.yaml").write_text(f"{HEAD}decode:\n  env:\n    NAME: {word}\n", encoding="utf-8")
    try:
        decode = load(tmp_path / "x.yaml").profile.decode
    except InputError:
        return
    assert decode is not None
    value = decode.env["NAME"]
    assert value == (word == "true" if word in {"true", "false"} else word)


@given(st.from_regex(r"[-+0-9A-Za-z.:_~]{1,12}", fullmatch=True))
def test_every_word_that_yaml_1_1_changes_is_known_to_change(word: str) -> None:
    try:
        read = yaml.safe_load(word)
    except (yaml.YAMLError, ValueError):
        return
    decimal = isinstance(read, int | float) and not isinstance(read, bool) and becomes(word) is None
    if decimal:
        assert float(word) == float(read)
    elif not isinstance(read, str | list | dict):
        assert word in {"true", "false", "~"} or becomes(word)


@given(st.integers(1, 10_000), st.sampled_from(["ms", "s", "m", "h"]))
def test_durations_and_counts_scale(number: int, unit: str) -> None:
    one = seconds(f"1{unit}")
    assert one is not None
    assert seconds(f"{number}{unit}") == pytest.approx(number * one)
    assert tokens(f"{number}k") == number * 1000


def test_waiving_takes_whatever_was_examined(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        HEAD + "allow: [{}, 1, {what: x, why: y, by: z, until: 2026-01-01}]\n", encoding="utf-8"
    )
    examined = examine(tmp_path / "x.yaml")
    assert waive(examined.loaded, examined.problems, dt.date(2026, 12, 1))
