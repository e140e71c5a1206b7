"""What has been declared of a value that differs: which side is judged by what, who waives it, where it ranks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from launcher.compare import Difference, Side, differences, judge_of
from launcher.knobs.catalogue import layer, shipped_files
from launcher.knobs.catalogue.compiled import Compiled
from launcher.profile import Loaded, Waiver, examine

from .making import service, side, sides

NOON = "SGLANG_SM120_MMA_TARGET_CTAS"


KNOWN = layer(Compiled(None).entries(shipped_files()), ())


def decode(env: Mapping[str, str] | None = None, **changes: Any) -> Side:
    made = side(service("prefill-0"), service("decode-0", env=env), service("router"))
    return replace(made, plan=made.plan.model_copy(update=changes))


def found(before: Side, after: Side) -> list[Difference]:
    return list(differences(before, after, judge_of(KNOWN, before, after)).found)


@settings(max_examples=60, deadline=None)
@given(sides(), sides())
def test_it_is_the_mirror_image_from_the_other_side(one: Side, other: Side) -> None:
    there, back = found(one, other), found(other, one)
    assert [d.change.mirrored() for d in there] == [d.change for d in back]
    assert [d.risk.said.mirrored() if d.risk.said else None for d in there] == [d.risk.said for d in back]


def test_known_bad_comes_first_then_what_nobody_calls_safe_then_the_riskiest_kind() -> None:
    noon = decode({"SGLANG_TIMEOUT_KEEP_ALIVE": "60", "SGLANG_OPT_NEW_SPLIT": "1"})
    evening = decode({"SGLANG_TIMEOUT_KEEP_ALIVE": "1", "SGLANG_OPT_NEW_SPLIT": "2", NOON: "512"})
    changes = found(noon, evening)
    assert [(d.change.name, d.risk.alarm, d.risk.name) for d in changes] == [
        (NOON, 0, "launch shape"),
        ("SGLANG_TIMEOUT_KEEP_ALIVE", 1, "time-outs"),
        ("SGLANG_OPT_NEW_SPLIT", 2, "launch shape"),
    ]
    assert [d.risk.said is None for d in changes] == [False, False, True]


def test_a_value_is_told_with_its_claims_and_the_way_back_from_it_as_well() -> None:
    (there,) = found(decode(), decode({NOON: "512"}))
    said = there.risk.said
    assert said
    assert said.after
    assert (said.before, said.after.outcome) == (None, "bad")
    assert said.safe == (("unset", (KNOWN.entries(NOON)[0].place,)),)
    assert said.after.claims[0].source == "this project: the incident of 2026-12-01"
    (back,) = found(decode({NOON: "512"}), decode())
    assert (back.risk.said, back.risk.alarm) == (said.mirrored(), 0)


def test_each_value_is_judged_by_what_is_around_it_on_its_own_side() -> None:
    here = replace(decode({NOON: "512"}), receipt={"gpu 4": "GPU-1 NVIDIA RTX PRO 6000 Blackwell 0000:01"})
    elsewhere = replace(decode({NOON: "512"}), receipt={"gpu 4": "GPU-2 NVIDIA H200 0000:01"})
    unset = decode()
    assert [found(unset, one)[0].risk.alarm for one in (here, elsewhere)] == [0, 1]


@pytest.mark.parametrize(
    ("what", "holds"),
    [
        (f"decode.env.{NOON}=512", True),
        (f"engine.env.{NOON}=512", True),
        (f"decode.replicas[0].env.{NOON}=512", True),
        (f"decode.env.{NOON}", True),
        (f"decode.env.{NOON}=511", False),
        (f"prefill.env.{NOON}=512", False),
        (f"decode.args.{NOON}=512", False),
        ("PD118", False),
    ],
)
def test_who_waives_it(what: str, holds: bool) -> None:
    waiver = Waiver(what=what, why="tried", by="anna", until=dt.date(2027, 1, 1))
    (one,) = found(decode(), decode({NOON: "512"}, allowed=(waiver,)))[:1]
    assert one.risk.said
    assert one.risk.said.after
    assert one.risk.said.after.waiver == (waiver if holds else None)


def test_what_the_profile_itself_declares_counts(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "name: p\nmodel: /m\nengine: {}\nprefill: {gpus: 0}\ndecode: {gpus: 1}\nrouter: {port: 1}\n"
        "knobs:\n  OUR_OWN: {safe: [a], bad: {c: it fell over}}\n"
    )
    loaded: Loaded = examine(path).loaded
    after = replace(decode({"OUR_OWN": "c"}), written=lambda _: loaded)
    (one,) = found(decode(), after)
    assert one.risk.said
    assert one.risk.said.after
    assert (one.risk.alarm, one.risk.said.after.why) == (0, "it fell over")
    assert one.risk.said.safe == (("a", (f"{path}:8",)),)


def test_of_a_simulators_settings_the_catalogue_is_quoted_and_raises_no_alarm() -> None:
    engine = decode().plan.engine.model_copy(update={"kind": "simulator"})
    (one,) = found(decode(engine=engine), decode({NOON: "512"}, engine=engine))
    assert one.risk.said
    assert (one.risk.alarm, one.risk.said.after) == (2, None)


def test_a_waiver_that_comes_with_its_value_is_told_with_it() -> None:
    def waiver(why: str) -> Waiver:
        return Waiver(what=f"decode.env.{NOON}=512", why=why, by="anna", until=dt.date(2027, 1, 1))

    noon, evening = decode(), decode({NOON: "512"}, allowed=(waiver("tried"),))
    later = decode({NOON: "512"}, allowed=(waiver("kept"),))
    assert [d.change.subject for d in found(noon, evening)] == [f"decode.env {NOON}"]
    assert [d.change.subject for d in found(evening, noon)] == [f"decode.env {NOON}"]
    assert [d.change.subject for d in found(evening, later)] == [f"allow decode.env.{NOON}=512"]
