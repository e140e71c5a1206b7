from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from launcher.errors import Problem
from launcher.knobs.catalogue import layer, shipped_files
from launcher.knobs.catalogue.compiled import Compiled
from launcher.profile import examine
from launcher.rules.declared import Known, check_declared

NOON = "SGLANG_SM120_MMA_TARGET_CTAS"
TODAY = dt.date(2026, 12, 1)
CARDS = ("NVIDIA RTX PRO 6000 Blackwell Server Edition",) * 8


@pytest.fixture(scope="module")
def known() -> Known:
    return Known(layer(Compiled(None).entries(shipped_files()), ()), gpus=CARDS, today=TODAY)


def check(tmp_path: Path, known: Known, text: str, *, told: tuple[Problem, ...] = ()) -> list[Problem]:
    path = tmp_path / "p.yaml"
    path.write_text("name: p\nmodel: /m\n" + text)
    return check_declared(examine(path).loaded, known, told)


PAIR = "engine: {{version: 0.5.23}}\nprefill: {{gpus: 0-3}}\ndecode: {{gpus: 4-7, env: {{{env}}}}}\n"


def decode(env: str, more: str = "") -> str:
    return PAIR.format(env=env) + more


def test_the_noon_variable_is_refused_with_its_reason(tmp_path: Path, known: Known) -> None:
    (problem,) = check(tmp_path, known, decode(f"{NOON}: 512"))
    assert problem.where.endswith(":5")
    assert problem.error.startswith("known bad: decode hangs once the context has grown; short requests pass")
    assert "safe: unset" in problem.error
    assert "2026-12-01, 8x RTX PRO 6000" in problem.error
    assert problem.write == (
        "nothing, delete the line\nor, to start it all the same, under `allow`:\n"
        f'  - {{what: decode.env.{NOON}=512, why: "...", by: "...", until: 2026-12-08}}'
    )


def test_a_waiver_that_names_setting_and_value_admits_it_and_no_other(tmp_path: Path, known: Known) -> None:
    allow = f"allow:\n  - {{what: decode.env.{NOON}=512, why: tried, by: anna, until: 2026-12-08}}\n"
    assert check(tmp_path, known, decode(f"{NOON}: 512", allow)) == []
    assert len(check(tmp_path, known, decode(f"{NOON}: 511", allow))) == 1


@pytest.mark.parametrize("value", ["1", "256", "511", "513", "1024"])
def test_every_other_value_of_it_is_untested(tmp_path: Path, known: Known, value: str) -> None:
    (problem,) = check(tmp_path, known, decode(f"{NOON}: {value}"))
    assert problem.error.startswith("untested: nobody has said that this value is safe")
    assert "hazard: more blocks than fit" in problem.error


def test_on_another_card_it_is_untested_and_not_bad(tmp_path: Path, known: Known) -> None:
    elsewhere = Known(known.catalogue, gpus=("NVIDIA H200",))
    (problem,) = check(tmp_path, elsewhere, decode(f"{NOON}: 512"))
    assert problem.error.startswith("untested")
