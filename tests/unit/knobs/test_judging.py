from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.knobs.declaration import Declaration
from launcher.knobs.judging import (
    Context,
    Verdict,
    claims_about,
    judge_setting,
    no_effect,
    safe_text,
    same,
)

CLAIM = {"says": "seen", "source": "here", "status": "measured"}
HARM = {"value": "512", "does": "hangs", "when": {"gpu": "RTX PRO 6000", "roles": ["decode"], "context_above": 8192}}


def declared(**fields: Any) -> Declaration:
    plain = {"name": "X_Y", "component": "x", "type": "int", "about": "A thing.", "claims": [CLAIM]}
    return Declaration.model_validate({**plain, **fields})


def outcome(declaration: Declaration, value: str, **context: Any) -> str:
    return judge_setting(declaration, value, Context(**context)).outcome


def test_a_bad_value_is_bad_where_its_condition_is_met() -> None:
    knob = declared(safe="unset", bad=[HARM])
    met = {"gpus": ("NVIDIA RTX PRO 6000 Blackwell",), "roles": ("decode",), "context_length": 262144}
    assert outcome(knob, "512", **met) == "bad"
    assert outcome(knob, "512", **{**met, "gpus": ("NVIDIA H200",)}) == "untested"
    assert outcome(knob, "512", **{**met, "roles": ("prefill",)}) == "untested"
    assert outcome(knob, "512", **{**met, "context_length": 8192}) == "untested"
    assert outcome(knob, "256", **met) == "untested"


@pytest.mark.parametrize("unknown", ["gpus", "roles", "context_length"])
def test_what_is_not_known_is_taken_to_be_met(unknown: str) -> None:
    met: dict[str, Any] = {"gpus": ("RTX PRO 6000",), "roles": ("decode",), "context_length": 262144}
    del met[unknown]
    assert outcome(declared(safe="unset", bad=[HARM]), "512", **met) == "bad"


def test_bad_comes_before_safe() -> None:
    knob = declared(safe={"min": 0, "max": 1000}, bad=[{"min": 500, "does": "hangs"}])
    assert [outcome(knob, value) for value in ("499", "500", "1000", "1001")] == ["safe", "bad", "bad", "bad"]


@given(st.integers(-(10**6), 10**6))
def test_an_interval_admits_what_lies_in_it_and_nothing_else(number: int) -> None:
    knob = declared(safe={"min": 60, "max": 900})
    assert (outcome(knob, str(number)) == "safe") == (60 <= number <= 900)


@given(st.text())
def test_text_that_is_no_number_is_in_no_interval(text: str) -> None:
    knob = declared(safe={"min": -1e9, "max": 1e9})
    admitted = outcome(knob, text) == "safe"
    assert admitted == (text.isascii() and text.strip() == text and _is_number(text))


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) <= 1e9 and not set(text.lower()) & set("naif_")
    except ValueError:
        return False


@given(st.text())
def test_a_value_that_nobody_named_is_never_safe(text: str) -> None:
    assert outcome(declared(safe="unset"), text) == "untested"
    assert (outcome(declared(safe={"values": ["a"]}, type="str"), text) == "safe") == (text == "a")


def test_a_form_is_for_the_whole_text() -> None:
    knob = declared(safe={"form": "[a-z0-9,]+", "named": "names"}, type="list")
    assert outcome(knob, "lo,eth0") == "safe"
    assert outcome(knob, "lo;rm") == "untested"
    assert outcome(knob, "lo\n") == "untested"


def test_where_nothing_is_known_only_the_default_may_be_written() -> None:
    knob = declared(safe="unknown", establish="a run", default="128")
    assert outcome(knob, "128") == "safe"
    assert outcome(knob, "64") == "unknown"
    assert outcome(declared(safe="unknown", establish="a run"), "None") == "unknown"


def test_a_range_for_another_card_says_nothing_about_this_one() -> None:
    knob = declared(safe={"min": 1, "max": 2, "when": {"gpu": "H200"}})
    assert outcome(knob, "5", gpus=("B200",)) == "unknown"
    assert outcome(knob, "5", gpus=("NVIDIA H200",)) == "outside"


@pytest.mark.parametrize(("one", "other"), [("true", "1"), ("yes", "1"), ("0", "False"), ("n", "no")])
def test_spellings_of_a_switch_are_one_value(one: str, other: str) -> None:
    assert same(one, other, "bool")
    assert not same(one, other, "str")
    assert not same("1", "0", "bool")


def test_numbers_are_compared_as_numbers() -> None:
    assert same("512", "512.0", "int")
    assert same("1e2", "100", "float")
    assert not same("512", "0512x", "int")


def test_a_knob_without_effect_says_why() -> None:
    moved = declared(safe="unset", transports=["mooncake"], roles=["prefill", "decode"])
    assert no_effect(moved, Context(transfer="nixl")) == "has no effect with nixl: it belongs to mooncake"
    assert no_effect(moved, Context(transfer="mooncake")) is None
    alone = no_effect(moved, Context(roles=("aggregated",)))
    assert alone == "has no effect on aggregated: only prefill and decode reads it"
    assert no_effect(moved, Context(roles=("decode", "aggregated"))) is None


def test_claims_that_were_taken_back_speak_for_nothing() -> None:
    back = {"says": "fine", "source": "there", "status": "retracted"}
    knob = declared(safe="unset", claims=[back, CLAIM])
    assert [claim.source for claim in claims_about(knob, Verdict("untested"))] == ["here"]
    assert [claim.source for claim in claims_about(knob, Verdict("bad", source="there"))] == ["there"]


def test_the_unit_stands_behind_an_interval_only() -> None:
    assert safe_text(declared(safe={"min": 60, "max": 900}, unit="s")) == "60 to 900 s"
    assert safe_text(declared(safe="unset", unit="s")) == "unset"
    assert safe_text(declared(safe="unknown", establish="a run")) == "unknown"
