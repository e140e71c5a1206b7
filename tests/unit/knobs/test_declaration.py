from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from launcher.knobs.declaration import Bad, Declaration, Range, When

CLAIM = {"says": "seen", "source": "here", "status": "measured"}


def declared(**fields: Any) -> Declaration:
    plain = {"name": "X_Y", "component": "x", "type": "int", "about": "A thing.", "claims": [CLAIM]}
    return Declaration.model_validate({**plain, **fields})


def test_safe_is_a_word_a_range_or_several() -> None:
    assert declared(safe="unset").safe == (Range(unset=True),)
    assert declared(safe={"min": "1"}).safe == (Range(min=1),)
    assert declared(safe=[{"values": "1"}, {"values": ["2", "3"]}]).safe == (
        Range(values=("1",)),
        Range(values=("2", "3")),
    )


def test_what_is_unknown_says_what_would_establish_it() -> None:
    assert not declared(safe="unknown", establish="a run").known
    with pytest.raises(ValidationError, match="what would establish it"):
        declared(safe="unknown")


def test_nothing_is_declared_without_a_claim() -> None:
    with pytest.raises(ValidationError, match="claims"):
        declared(safe="unset", claims=[])


@pytest.mark.parametrize("both", [{}, {"min": 1, "values": ["1"]}, {"form": "x", "unset": True}])
def test_a_range_says_exactly_one_thing(both: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="a safe range is one of"):
        Range.model_validate(both)


@pytest.mark.parametrize("both", [{"does": "harm"}, {"does": "harm", "value": "1", "min": 2}])
def test_a_bad_value_is_one_value_or_an_interval(both: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="a bad value is one of"):
        Bad.model_validate(both)


@pytest.mark.parametrize("key", ["saef", "hazards", "role"])
def test_a_key_that_nobody_knows_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        declared(safe="unset", **{key: "x"})


@pytest.mark.parametrize("status", ["proved", "Measured", ""])
def test_a_claim_has_one_of_five_states(status: str) -> None:
    with pytest.raises(ValidationError, match="status"):
        declared(safe="unset", claims=[{**CLAIM, "status": status}])


@pytest.mark.parametrize("date", ["yesterday", "2026-1-1", "01.12.2026"])
def test_a_date_is_as_exact_as_it_is_known_and_no_other_text(date: str) -> None:
    assert declared(safe="unset", claims=[{**CLAIM, "date": "2026-12"}]).claims[0].date == "2026-12"
    with pytest.raises(ValidationError, match="date"):
        declared(safe="unset", claims=[{**CLAIM, "date": date}])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"min": 60, "max": 900}, "60 to 900"),
        ({"min": 0.72, "max": 0.93}, "0.72 to 0.93"),
        ({"min": 5}, "5 or more"),
        ({"max": 5}, "at most 5"),
        ({"values": ["0", "1"]}, "0 or 1"),
        ({"unset": True}, "unset"),
        ({"form": ".+", "named": "names"}, "names"),
        ({"values": "8", "when": {"gpu": "H200", "roles": ["decode"]}}, "8 (for decode, on H200)"),
    ],
)
def test_a_range_in_words(written: dict[str, Any], said: str) -> None:
    assert str(Range.model_validate(written)) == said


def test_bad_values_in_words() -> None:
    assert str(Bad(value="512", does="hangs")) == "512"
    assert str(Bad(min=0.95, does="dies")) == "0.95 or more"
    assert str(Bad(max=0, does="stops")) == "0 or less"
    assert str(Bad(min=0, max=4, does="stops")) == "0 to 4"


def test_conditions_in_words() -> None:
    assert str(When()) == ""
    assert not When()
    when = When(context_above=8192, engine=("0.5",), transfer=("nixl",), model=("V4",))
    assert str(when) == "with a context length above 8192, in engine 0.5, over nixl, with V4"
