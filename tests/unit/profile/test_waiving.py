from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from launcher.errors import Problem
from launcher.profile import Loaded, Waiver, examine, waive

TODAY = dt.date(2026, 12, 1)


def loaded(tmp_path: Path, what: str, until: str = "2026-12-01") -> Loaded:
    path = tmp_path / "x.yaml"
    text = (
        "name: x\nengine: {kind: cpu}\nprefill: {}\ndecode: {env: {X: 512}, args: {a: [1, 2]}}\nrouter: {port: 8000}\n"
        f"allow:\n  - {{what: '{what}', why: test, by: anna, until: {until}}}\n"
    )
    path.write_text(text, encoding="utf-8")
    examined = examine(path)
    assert examined.problems == ()
    return examined.loaded


def said(code: str | None) -> Problem:
    return Problem(where="x.yaml:1", subject="x", error="wrong", code=code)


def test_a_rule_is_waived_by_its_code(tmp_path: Path) -> None:
    profile = loaded(tmp_path, "PD204")
    assert waive(profile, [said("PD204"), said("PD101"), said(None)], TODAY) == [said("PD101"), said(None)]


def test_problems_come_back_in_the_order_of_the_lines(tmp_path: Path) -> None:
    places = [Problem(where=where, subject="x", error="wrong") for where in ("x.yaml:10", "x.yaml", "x.yaml:9")]
    ordered = waive(loaded(tmp_path, "decode.env.X=512"), places, TODAY)
    assert [problem.where for problem in ordered] == ["x.yaml", "x.yaml:9", "x.yaml:10"]


def test_a_waiver_holds_on_its_last_day_and_not_after(tmp_path: Path) -> None:
    profile = loaded(tmp_path, "PD204")
    assert waive(profile, [said("PD204")], TODAY) == []
    (problem,) = waive(profile, [said("PD204")], TODAY + dt.timedelta(days=1))
    assert (problem.severity, problem.subject) == ("error", "allow[0].until = 2026-12-01")
    assert "waiver of anna" in problem.error


@pytest.mark.parametrize("what", ["PD204", "decode.env.X=513", "decode.env.Y=512", "engine.args.api-key"])
def test_one_that_matches_nothing_is_a_warning(tmp_path: Path, what: str) -> None:
    (problem,) = waive(loaded(tmp_path, what), [], TODAY)
    assert problem.severity == "warning"
    assert "matches nothing" in problem.error
    assert problem.where.endswith(":7")


@pytest.mark.parametrize("what", ["decode.env.X=512", "decode.env.X", "decode.args.a=[1, 2]"])
def test_one_that_matches_a_setting_is_silent(tmp_path: Path, what: str) -> None:
    assert waive(loaded(tmp_path, what), [], TODAY) == []


def test_a_check_of_the_machine_is_not_judged_here(tmp_path: Path) -> None:
    profile = loaded(tmp_path, "DR105")
    assert waive(profile, [], TODAY) == []
    (problem,) = waive(profile, [], TODAY + dt.timedelta(days=1))
    assert (problem.severity, problem.subject) == ("error", "allow[0].until = 2026-12-01")


@pytest.mark.parametrize("what", ["anything", "PD20", "DR20", "decode.gpus=1", "X=512"])
def test_one_that_names_nothing_of_its_kind_is_an_error(tmp_path: Path, what: str) -> None:
    (problem,) = waive(loaded(tmp_path, what), [], TODAY)
    assert problem.severity == "error"
    assert "neither a rule nor a setting" in problem.error


def test_every_field_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "y.yaml"
    path.write_text(
        "name: x\nengine: {kind: cpu}\nprefill: {}\ndecode: {}\nrouter: {port: 1}\nallow: [{what: PD204}]\n"
    )
    errors = [problem.error for problem in examine(path).problems]
    assert [error.partition(":")[0] for error in errors] == [
        "a waiver needs `why`",
        "a waiver needs `by`",
        "a waiver needs `until`",
    ]


def test_a_waiver_without_a_claim_is_written_as_before_there_were_any() -> None:
    plain = {"what": "PD118", "why": "bench box", "by": "anna", "until": "2027-01-31"}
    named = {**plain, "claim": "it hangs"}
    assert [Waiver.model_validate_json(json.dumps(each)).model_dump(mode="json") for each in (plain, named)] == [
        plain,
        named,
    ]
