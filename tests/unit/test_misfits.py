"""What does not fit a model is said in words that a person who never saw Python understands."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError, model_validator

from launcher.frozen import Frozen
from launcher.misfits import first_of


class Inner(Frozen):
    number: int


class Model(Frozen):
    whole: int = 1
    share: float = Field(default=0.5, ge=0, lt=1)
    switch: bool = True
    text: str = "x"
    form: str = Field(default="a1", pattern="^[a-z][0-9]$")
    word: Literal["one", "two"] = "one"
    items: tuple[str, ...] = Field(default=("a",), min_length=1)
    names: Mapping[str, str] = {}
    inner: Inner = Inner(number=1)
    day: dt.date = dt.date(2026, 12, 1)
    at: dt.datetime = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)

    @model_validator(mode="after")
    def _says_so(self) -> Model:
        if self.text == "wrong":
            raise ValueError("that text is the wrong one")
        return self


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"whole": "x"}, "whole: a whole number is meant"),
        ({"whole": 1.5}, "whole: a whole number is meant"),
        ({"share": "x"}, "share: a number is meant"),
        ({"share": -1.0}, "share: is to be at least 0.0"),
        ({"share": 1.0}, "share: is to be less than 1.0"),
        ({"switch": 3}, "switch: true or false is meant"),
        ({"text": 3}, "text: a text is meant"),
        ({"form": "11"}, "form: does not have the form ^[a-z][0-9]$"),
        ({"word": "three"}, "word: is to be 'one' or 'two'"),
        ({"items": 3}, "items: a list is meant"),
        ({"items": []}, "items: holds too few or too many"),
        ({"names": []}, "names: a mapping is meant"),
        ({"inner": 3}, "inner: a mapping is meant"),
        ({"inner": {}}, "inner.number: is missing"),
        ({"other": 3}, "other: is no key here"),
        ({"day": "noon"}, "day: a date is meant, such as 2026-12-01"),
        ({"at": "noon"}, "at: a date with a time is meant"),
        ({"text": "wrong"}, "that text is the wrong one"),
    ],
)
def test_each_kind_of_misfit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate_json(json.dumps(given))
    assert first_of(caught.value) == said


def test_what_is_no_json_at_all() -> None:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate_json('{"whole": 1')
    assert first_of(caught.value) == "is no JSON: it was cut short or edited"
