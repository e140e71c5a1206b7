"""Several who speak of one knob: who decides, whose claims are told, and what a profile's own words amount to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from launcher.knobs.catalogue import Entry
from launcher.knobs.declaration import Declaration
from launcher.knobs.judging import Context
from launcher.knobs.voices import Voices, own_entry

CLAIM = {"says": "seen", "source": "here", "status": "measured"}
HANGS = {"value": "512", "does": "hangs", "source": "here"}


def entry(place: str = "shipped.yaml", **fields: Any) -> Entry:
    plain = {"name": "X_Y", "component": "x", "type": "int", "about": "A thing.", "claims": [CLAIM]}
    return Entry(Declaration.model_validate({**plain, **fields}), Path(place), 7)


def own(**fields: Any) -> Entry:
    plain: dict[str, Any] = {"kind": "env", "safe": (), "bad": {}, "why": None, "place": (Path("p.yaml"), 9)}
    return own_entry("X_Y", **{**plain, **fields})


def outcomes(voices: Voices, *values: str) -> list[str]:
    return [voices.judge([value], Context()).verdict.outcome for value in values]


def test_whoever_comes_later_narrows_and_never_widens() -> None:
    shipped, local = entry(safe={"min": 1, "max": 9}), entry("site.yaml", safe={"min": 5, "max": 20})
    both = Voices((shipped, local))
    assert outcomes(both, "4", "7", "15") == ["outside", "safe", "outside"]
    assert [both.judge([value], Context()).by is local for value in ("4", "7", "15")] == [True, False, False]


def test_where_the_first_knows_nothing_the_next_may_speak() -> None:
    voices = Voices((entry(safe="unknown", establish="a run"), own(safe=("64",), type_="int")))
    assert outcomes(voices, "64", "65") == ["safe", "untested"]
    assert voices.safe == {"64": ("p.yaml:9",)}


def test_no_later_word_makes_a_bad_value_good() -> None:
    assert outcomes(Voices((entry(safe="unset", bad=[HANGS]), own(safe=("512",)))), "512") == ["bad"]


def test_several_words_are_as_bad_as_the_worst() -> None:
    assert Voices((entry(safe={"min": 1, "max": 9}),)).judge(["3", "30"], Context()).verdict.outcome == "outside"


def test_the_claims_of_those_who_share_the_verdict_come_first() -> None:
    other = {**CLAIM, "says": "elsewhere it is fine", "source": "there"}
    shipped = entry(safe="unset", bad=[HANGS], claims=[other, CLAIM])
    judged = Voices((shipped, own(safe=("unset",), bad={"512": "hangs here too"}, why="seen on this box"))).judge(
        ["512"], Context()
    )
    assert [claim.says for claim in judged.claims] == ["seen", "seen on this box", "elsewhere it is fine"]


@pytest.mark.parametrize("text", ["hangs", "Hangs.", " hangs  here  too ", "seen", "here", "p.yaml:9"])
def test_a_claim_is_named_by_what_it_says_or_where_it_stands(text: str) -> None:
    voices = Voices((entry(safe="unset", bad=[HANGS]), own(bad={"512": "hangs here too"})))
    assert voices.judge(["512"], Context()).names_claim(text)
    assert not voices.judge(["512"], Context()).names_claim("something else")


def test_who_is_mute_is_quoted_and_decides_nothing() -> None:
    shipped = entry(safe="unset", bad=[HANGS])
    assert not Voices((shipped,), mute=(shipped,))
    voices = Voices((shipped, own(safe=("512",))), mute=(shipped,))
    assert outcomes(voices, "512", "511") == ["safe", "untested"]
    assert [claim.says for claim in voices.judge(["511"], Context()).claims] == ["safe: 512", "seen"]


def test_a_profiles_switch_is_one_however_it_is_spelled() -> None:
    voices = Voices((own(safe=("true",), bad={"0": "slow"}),))
    assert outcomes(voices, "1", "true", "false", "0") == ["safe", "safe", "bad", "bad"]


def test_a_profile_that_knows_only_what_is_bad_admits_nothing_else() -> None:
    assert outcomes(Voices((own(bad={"512": "hangs"}),)), "512", "64") == ["bad", "unknown"]
