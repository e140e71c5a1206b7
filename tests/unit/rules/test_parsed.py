"""What an engine's parser takes: the same flags are given to argparse itself."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.knobs import EngineKnobs, Flag, Unevaluated
from launcher.profile import ArgValue
from launcher.rules.parsed import refusal


def flag(name: str, type_: str = "str", **more: object) -> Flag:
    known: dict[str, object] = {"options": (name,), "dest": name.replace("-", "_"), "default": None}
    return Flag(name=name, type=type_, **(known | more))  # type: ignore[arg-type]  # a test's shorthand


FLAGS = (
    flag("tp-size", "int", options=("tensor-parallel-size", "tp-size")),
    flag("graph-max-bs-decode", "int"),
    flag("graph-max-bs-prefill", "int"),
    flag("share", "float"),
    flag("override", "json.loads"),
    flag("backend", choices=("nixl", "mooncake")),
    flag("level", "int", choices=(0, 1, 2)),
    flag("sizes", "int", nargs="+"),
    flag("paths", nargs="*"),
    flag("pair", "int", nargs=2),
    flag("one", "int", nargs=1),
    flag("maybe", "int", nargs="?"),
    flag("quiet", "bool", nargs=0, action="store_true"),
    flag("overlap", "bool", nargs=0, action="BooleanOptionalAction", negations=("no-overlap",)),
)
KNOBS = EngineKnobs("sglang", "0.5.23", {each.name: each for each in FLAGS})


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="engine")
    kinds: dict[str, Callable[[str], object]] = {"int": int, "float": float, "json.loads": json.loads, "str": str}
    for each in FLAGS:
        options = [f"--{option}" for option in each.options]
        if each.action == "store_true":
            made.add_argument(*options, action="store_true")
        elif each.action == "BooleanOptionalAction":
            made.add_argument(*options, action=argparse.BooleanOptionalAction)
        else:
            choices = each.choices if isinstance(each.choices, tuple) else None
            made.add_argument(*options, type=kinds[each.type], nargs=each.nargs, choices=choices)
    return made


PARSER = parser()


def argparse_says(name: str, value: ArgValue) -> str | None:
    """The words of argparse, without what they are about."""
    if value is None or value is False:
        return None
    words = () if value is True else (value,) if isinstance(value, str) else value
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            PARSER.parse_args([f"--{name}", *words])
    except SystemExit:
        text = said.getvalue().partition("error: ")[2]
        text = text.partition(": ")[2] if text.startswith("argument ") else text
        reason = text.partition(":")[0].strip()
        return {"unrecognized arguments": "unrecognized", "ambiguous option": "ambiguous"}.get(reason, reason)
    return None


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("tp-size", "4", None),
        ("tensor-parallel-size", "4", None),
        ("tp", "4", None),
        ("tp", "four", "invalid int value"),
        ("tp-size", "4.0", "invalid int value"),
        ("tp-size", ("4", "8"), "unrecognized"),
        ("tp-size", (), "expected one argument"),
        ("tp-size", True, "expected one argument"),
        ("tp-size", False, None),
        ("tp-size", None, None),
        ("tp-size", "-1", None),
        ("share", "-1e5", "expected one argument"),
        ("share", ".85", None),
        ("share", "most", "invalid float value"),
        ("graph-max-bs", "512", "ambiguous"),
        ("radix", True, "unrecognized"),
        ("radix", False, None),
        ("override", '{"a": 1}', None),
        ("override", "{", "invalid loads value"),
        ("backend", "nixl", None),
        ("backend", "nccl", "invalid choice"),
        ("level", "1", None),
        ("level", "3", "invalid choice"),
        ("sizes", ("1", "2"), None),
        ("sizes", (), "expected at least one argument"),
        ("sizes", ("1", "x"), "invalid int value"),
        ("paths", (), None),
        ("pair", ("1", "2"), None),
        ("pair", ("1",), "expected 2 arguments"),
        ("one", (), "expected 1 argument"),
        ("maybe", True, None),
        ("quiet", True, None),
        ("quiet", "true", "unrecognized"),
        ("no-overlap", True, None),
        ("no-overlap", "1", "unrecognized"),
        ("tp-size=4", True, None),
        ("tp=x", True, "invalid int value"),
        ("graph-max-bs=1", True, "ambiguous"),
        ("tp-size=", True, "invalid int value"),
        ("tp-size=4", "8", "unrecognized"),
        ("share=-1e5", True, None),
        ("quiet=1", True, "ignored explicit argument '1'"),
        ("pair=1", "2", "expected 2 arguments"),
        ("quiet", ("--tp", "4"), None),
        ("quiet", ("--tp",), "expected one argument"),
        ("sizes", ("1", "--backend", "nccl"), "invalid choice"),
    ],
)
def test_each_kind_of_refusal(name: str, value: ArgValue, reason: str | None) -> None:
    assert refusal(KNOBS, name, value) == reason == argparse_says(name, value)


NAMES = st.sampled_from([s[:cut] for each in FLAGS for s in each.spellings for cut in range(2, len(s) + 1)])
WORDS = st.one_of(
    st.sampled_from(["--tp", "--tp=4", "--quiet", "--sizes", "--radix", "--"]),
    st.sampled_from(["1", "-1", "-1.5", "-.5", "1_000", " 7 ", "", "-", "--", "-x", "-a b", "nixl", "{}", "0", "true"]),
    st.integers(-99, 99).map(str),
    st.text(st.characters(codec="utf-8", exclude_characters="=-"), max_size=4),
)


@given(
    NAMES,
    st.sampled_from(["", "", "=4", "=", "=x", "=-1e5"]),
    st.one_of(st.booleans(), WORDS, st.lists(WORDS, max_size=3).map(tuple)),
)
def test_it_agrees_with_argparse(name: str, joined: str, value: ArgValue) -> None:
    assert (refusal(KNOBS, name + joined, value) is None) == (argparse_says(name + joined, value) is None)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("human_readable_int", "4k", None),
        ("human_readable_int", "2Mi", None),
        ("human_readable_int", "2.5M", None),
        ("human_readable_int", "2.5Mi", "invalid value"),
        ("human_readable_int", "4K", "invalid value"),
        ("human_readable_int", "-1", None),
        ("json_list_type", "[1]", None),
        ("json_list_type", "[1", "invalid value"),
        ("parse_cuda_graph_config_arg", '{"decode": {}}', None),
        ("parse_cuda_graph_config_arg", "[]", "invalid value"),
        ("a_fork's_own", "anything", None),
    ],
)
def test_parsers_of_the_engines_own(kind: str, text: str, reason: str | None) -> None:
    knobs = EngineKnobs("sglang", None, {"x": flag("x", kind)})
    assert refusal(knobs, "x", text) == reason


def test_choices_that_the_source_does_not_list_are_not_judged() -> None:
    knobs = EngineKnobs("sglang", None, {"x": flag("x", choices=Unevaluated("names()"))})
    assert refusal(knobs, "x", "anything") is None


def test_a_flag_that_is_known_only_to_be_refused() -> None:
    knobs = EngineKnobs("sglang", None, {"x": flag("x", refused=True)})
    assert refusal(knobs, "x", "1") == "refused"


def test_nested_beyond_reading_is_no_value() -> None:
    assert refusal(KNOBS, "override", "[" * 100_000) == "invalid loads value"
