"""What is written, as this package and as a common YAML reader take it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.lock.yaml_reading import DEEPEST, load
from launcher.lock.yaml_writing import Flow, dump, scalar

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | TEXTS
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(value=st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
@example(
    value={"y": "no", "1": "1:30", "on": "0755", "~": "~", "": "", "=": "=", "<<": "<<", "- a": "a: b", "x#": "a #b"}
)
@example(value={"long" * 400: {"k" * 3000: ["\u2028", "\x85", "\ufeff", "\x7f", "\U0001f600", "1e5", "0x1f", ".inf"]}})
def test_a_value_comes_back(value: dict[str, Any]) -> None:
    text = dump(value, {})
    assert load(text, "x")[0] == value
    assert yaml.safe_load(text) == value


@given(value=st.lists(SCALARS, min_size=1))
def test_a_list_on_one_line_comes_back(value: list[Any]) -> None:
    text = dump({"k": Flow(value), "l": [Flow(value)]}, {})
    assert text.count("\n") == 3
    assert load(text, "x")[0] == yaml.safe_load(text) == {"k": value, "l": [value]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("--page-size", "--page-size"),
        ("/models/x_1.5", "/models/x_1.5"),
        ("64", '"64"'),
        ("no", '"no"'),
        ("http://a:1", '"http://a:1"'),
        ("decade1234ab", '"decade1234ab"'),
        ('café "1"\n', '"café \\"1\\"\\n"'),
        ("-", '"-"'),
        (60.0, "60"),
        (0.5, "0.5"),
        (1e22, "1.0e+22"),
        (None, "~"),
        (True, "true"),
    ],
)
def test_how_a_value_is_written(value: Any, text: str) -> None:
    assert scalar(value) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, b"x", object()])
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="has no place in a lock"):
        scalar(value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "x: is empty"),
        ("a: 1\na: 2\n", "x:2: a stands twice"),
        ("a: &b 1\n", "x:1: anchors, aliases and tags"),
        ("a: *b\n", "x:1: anchors, aliases and tags"),
        ("a: !!int 1\n", "x:1: anchors, aliases and tags"),
        ("%YAML 1.1\n---\na: 1\n", "x:1: a % directive"),
        ("a: 1\n---\nb: 1\n", "x:2: a second document"),
        ("a:\nb: 1\n", "x:1: nothing stands"),
        ("a: yes\n", "x:1: yes may be true"),
        ("a: 2026-01-01\n", "x:1: 2026-01-01 may be a date"),
        ("1: 1\n", "x:1: a key is text"),
        ("[a]: 1\n", "x:1: a key is text"),
        ("a: [1\n", "x:2: not YAML"),
        ("a: \x01\n", "x: not YAML"),
    ],
)
def test_what_is_not_taken_is_refused_with_its_line(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        load(text, "x")
    assert caught.value.message.startswith(error)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000 + "1", "? " * 100_000])
def test_depth_has_an_end(text: str) -> None:
    with pytest.raises(InputError, match=f"nested deeper than {DEEPEST} levels|not YAML"):
        load(text, "x")


def test_each_place_has_its_line() -> None:
    _, lines = load("a:\n  b: 1\n  c:\n    - 1\n    - d: 2\n", "x")
    assert lines["a", "b"] == 2
    assert lines["a", "c", 1, "d"] == 5
