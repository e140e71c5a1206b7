from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.errors import Problem
from launcher.knobs import EngineKnobs, EnvKnob, Place, Read
from launcher.knobs.catalogue import layer, shipped_files
from launcher.knobs.catalogue.compiled import Compiled
from launcher.profile import Loaded, examine
from launcher.rules import check_names, judge_profile, simulator_knobs
from launcher.rules.declared import Known, check_declared
from launcher.shipped import shipped
from tests.unit.knobs.slips import slips

NOON = "SGLANG_SM120_MMA_TARGET_CTAS"
CLAIM = "decode hangs once the context has grown; short requests pass"
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
        f"  - what: decode.env.{NOON}=512\n    claim: '{CLAIM}'\n"
        '    why: "..."\n    by: "..."\n    until: 2026-12-08'
    )


def test_a_knob_of_a_fork_is_told_with_the_place_that_reads_it(tmp_path: Path, known: Known) -> None:
    read = Read(Place("kernels/ops/attention/flash_mla_sm120.py", 212), "os.environ")
    there = Known(known.catalogue, engine(EnvKnob(NOON, "int", reads=(read,))), gpus=CARDS)
    (problem,) = check(tmp_path, there, decode(f"{NOON}: 512"))
    assert problem.error.endswith("\n         read only by this fork: kernels/ops/attention/flash_mla_sm120.py:212")


def test_a_waiver_that_names_setting_and_value_admits_it_and_no_other(tmp_path: Path, known: Known) -> None:
    allow = f"allow:\n  - {{what: decode.env.{NOON}=512, claim: '{CLAIM}', why: tried, by: anna, until: 2026-12-08}}\n"
    assert check(tmp_path, known, decode(f"{NOON}: 512", allow)) == []
    assert len(check(tmp_path, known, decode(f"{NOON}: 511", allow))) == 1


def test_a_waiver_of_a_known_danger_names_its_claim(tmp_path: Path, known: Known) -> None:
    allow = "allow:\n  - {{what: decode.env." + NOON + "=512, {claim}why: tried, by: anna, until: 2026-12-08}}\n"
    (warning,) = check(tmp_path, known, decode(f"{NOON}: 512", allow.format(claim="")))
    assert (warning.severity, warning.write) == ("warning", f"claim: '{CLAIM}'")
    assert warning.where.endswith(":7")
    by_source = allow.format(claim="claim: 'this project: the incident of 2026-12-01', ")
    assert check(tmp_path, known, decode(f"{NOON}: 512", by_source)) == []
    (error,) = check(tmp_path, known, decode(f"{NOON}: 512", allow.format(claim="claim: it is slow, ")))
    assert (error.severity, error.error) == ("error", "nobody claims this of the value")
    assert error.write == f"claim: '{CLAIM}'"


@pytest.mark.parametrize("value", ["1", "256", "511", "513", "1024"])
def test_every_other_value_of_it_is_untested(tmp_path: Path, known: Known, value: str) -> None:
    (problem,) = check(tmp_path, known, decode(f"{NOON}: {value}"))
    assert problem.error.startswith("untested: nobody has said that this value is safe")
    assert "hazard: more blocks than fit" in problem.error


def test_on_another_card_it_is_untested_and_not_bad(tmp_path: Path, known: Known) -> None:
    elsewhere = Known(known.catalogue, gpus=("NVIDIA H200",))
    (problem,) = check(tmp_path, elsewhere, decode(f"{NOON}: 512"))
    assert problem.error.startswith("untested")


def engine(*knobs: EnvKnob) -> EngineKnobs:
    return EngineKnobs("sglang", "0.5.23", {}, {knob.name: knob for knob in knobs})


KNOWN = EnvKnob(
    "SGLANG_NEW", "int", 128, declared=Place("srt/environ.py", 7), reads=(Read(Place("srt/pool.py", 933), "registry"),)
)


@pytest.mark.parametrize("profile", sorted(path.name for path in shipped("profiles").glob("*.yaml")))
@pytest.mark.parametrize("gpus", [(), CARDS], ids=["cards unknown", "cards known"])
def test_every_shipped_profile_passes_without_a_word(known: Known, profile: str, gpus: tuple[str, ...]) -> None:
    loaded = examine(shipped("profiles") / profile).loaded
    assert check_declared(loaded, Known(known.catalogue, gpus=gpus)) == []


def test_dsv4_flash_with_the_noon_variable_is_refused_and_starts_with_a_waiver(tmp_path: Path, known: Known) -> None:
    text = (shipped("profiles") / "dsv4-flash.yaml").read_text()
    line = "    SGLANG_SM120_FLASHMLA_BACKEND"
    path = tmp_path / "p.yaml"
    path.write_text(text.replace(line, f"    {NOON}: 512\n{line}"))
    (problem,) = check_declared(examine(path).loaded, known)
    assert problem.error.splitlines()[:2] == [
        f"known bad: {CLAIM}",
        f"         safe: unset     said by: fork.yaml:9, this profile, line {line_of(path, 'safe: unset') - 1}",
    ]
    assert "measured: 512 served short requests for hours and hung long ones" in problem.error
    waiver = (
        f"\nallow:\n  - {{what: decode.env.{NOON}=512, claim: '{CLAIM}', why: tried, by: anna, until: 2026-12-08}}\n"
    )
    path.write_text(path.read_text() + waiver)
    assert (examine(path).problems, check_declared(examine(path).loaded, known)) == ((), [])


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_on_a_simulator_the_profile_alone_decides_and_the_catalogue_is_quoted(tmp_path: Path, known: Known) -> None:
    text = "engine: {{kind: simulator}}\nprefill: {{}}\ndecode: {{env: {{{env}}}}}\n"
    site = f"knobs:\n  {NOON}: {{safe: unset, bad: {{512: it hung here}}}}\n"
    (problem,) = check(tmp_path, known, text.format(env=f"{NOON}: 512") + site)
    assert problem.error.startswith(
        "known bad: it hung here\n         safe: unset     said by: fork.yaml:9, this profile"
    )
    assert "2026-12-01, 8x RTX PRO 6000" in problem.error


def test_a_variable_that_the_engine_knows_and_nobody_declared(tmp_path: Path, known: Known) -> None:
    (problem,) = check(tmp_path, Known(known.catalogue, engine(KNOWN)), decode("SGLANG_NEW: 64"))
    assert problem.error == (
        "the engine reads it (128 if unset, srt/pool.py:933),\n         but nobody has said which values are safe"
    )
    assert problem.write == (
        f'pdlaunch declare SGLANG_NEW --value 64 --why "..." --profile {tmp_path}/p.yaml\nit admits 64 and nothing else'
    )


@pytest.mark.parametrize("name", ["SGLANG_RUST_ONLY", "SGL_MM_THREADS", "SGLANG_GLUED_ONE", "SGLANG_GLUED_TWO"])
def test_a_variable_that_only_a_compiled_library_has(tmp_path: Path, known: Known, name: str) -> None:
    library = Place("srt/_server.so", 0)
    texts = ("SGLANG_RUST_ONLY0123456789", "SGL_MM_THREADS", "SGLANG_GLUED_ONESGLANG_GLUED_TWO")
    there = replace(engine(), compiled=dict.fromkeys(texts, library), legacy_prefixes={"SGL_": "SGLANG_"})
    text = decode(f"{name}: 4")
    (problem,) = check(tmp_path, Known(known.catalogue, there), text)
    assert problem.error.startswith("a compiled library of the engine has its name (srt/_server.so),")
    assert check_names(examine(tmp_path / "p.yaml").loaded, there) == []
    (error,) = check_names(_written(tmp_path, decode("SGLANG_RUST_ONL: 4")), there)
    assert "neither declares nor reads it" in error.error


def _written(tmp_path: Path, text: str) -> Loaded:
    path = tmp_path / "q.yaml"
    path.write_text("name: p\nmodel: /m\n" + text)
    return examine(path).loaded


def test_a_variable_that_is_described_but_not_judged(tmp_path: Path, known: Known) -> None:
    (problem,) = check(tmp_path, known, decode("SGLANG_SWA_EVICTION_INTERVAL: 64"))
    assert "nobody has said which values are safe" in problem.error
    assert "what would establish it: memory and speed of a long context" in problem.error
    assert check(tmp_path, known, decode("SGLANG_SWA_EVICTION_INTERVAL: 128")) == []  # its default


@pytest.mark.parametrize("name", ["SGLANG_NEW", "SGLANG_SWA_EVICTION_INTERVAL", "SITE_OWN"])
def test_a_declaration_admits_what_it_names_and_nothing_else(tmp_path: Path, known: Known, name: str) -> None:
    site = f'knobs:\n  {name}: {{safe: "64", why: soaked}}\n'
    there = Known(known.catalogue, engine(KNOWN))
    assert check(tmp_path, there, decode(f"{name}: 64", site)) == []
    path = tmp_path / "p.yaml"
    path.write_text(path.read_text().replace(f"{name}: 64", f"{name}: 65"))
    (refused,) = check_declared(examine(path).loaded, there)
    assert refused.error.startswith(
        "untested: nobody has said that this value is safe\n         safe: 64     said by: this profile, line 7"
    )


def test_a_profile_may_narrow_the_catalogue_and_not_widen_it(tmp_path: Path, known: Known) -> None:
    widening = f'knobs:\n  {NOON}: {{safe: ["256", "512"]}}\n'
    assert len(check(tmp_path, known, decode(f"{NOON}: 512", widening))) == 1
    assert len(check(tmp_path, known, decode(f"{NOON}: 256", widening))) == 1


SITE = "knobs: {X_OWN: {safe: unset, bad: {512: hangs}}, W_OWN: {safe: [a, b]}, page-size: {bad: {64: ignored}}}\n"


def test_what_the_profile_itself_says_of_a_name(tmp_path: Path, known: Known) -> None:
    (problem,) = check(tmp_path, known, decode("X_OWN: 512", SITE))
    assert problem.error == "known bad: hangs\n         safe: unset     said by: this profile, line 6"
    (problem,) = check(tmp_path, known, decode("W_OWN: c", SITE))
    assert problem.write
    assert problem.write.startswith("W_OWN: a\nor, to start it all the same")
    for env in ("W_OWN: b", "X_OWN: ~"):
        assert check(tmp_path, known, decode(env, SITE)) == []
    allow = "allow: [{what: decode.env.X_OWN=512, claim: hangs, why: test, by: anna, until: 2027-01-01}]\n"
    assert check(tmp_path, known, decode("X_OWN: 512", SITE + allow)) == []
    assert len(check(tmp_path, known, decode("X_OWN: 256", SITE + allow))) == 1


def test_a_flag_may_be_declared_as_well(tmp_path: Path, known: Known) -> None:
    flags = PAIR.replace("env: {{{env}}}", "args: {{{env}}}")
    (problem,) = check(tmp_path, known, flags.format(env="page-size: 64") + SITE)
    assert problem.error.startswith("known bad: ")


def test_outside_a_range_says_the_range_the_hazard_and_who_says_so(tmp_path: Path, known: Known) -> None:
    (problem,) = check(tmp_path, known, decode("SGLANG_DISAGGREGATION_WAITING_TIMEOUT: 5"))
    assert problem.error.startswith("outside the safe range, 300 to 900 s\n")
    assert "hazard: every dead request costs this long" in problem.error
    assert "https://github.com/sgl-project/sglang/pull/28651" in problem.error
    assert problem.write
    assert problem.write.startswith("nothing, delete the line (300 is the default)")


def test_flags_need_no_entry_but_a_judged_value_is_judged(tmp_path: Path, known: Known) -> None:
    text = PAIR.replace("env: {{{env}}}", "args: {{{env}}}")
    assert check(tmp_path, known, text.format(env="some-new-flag: 3, context-length: 7")) == []
    (problem,) = check(tmp_path, known, text.format(env="mem-fraction-static: 0.95"))
    assert problem.error.startswith("known bad: it starts, and dies once a context has reached about 550k tokens")
    assert check(tmp_path, known, text.format(env="disable-custom-all-reduce: true")) == []


def test_a_setting_without_effect_is_a_warning(tmp_path: Path, known: Known) -> None:
    (problem,) = check(tmp_path, known, decode("MC_FORCE_TCP: 1"))
    assert (problem.severity, problem.error) == ("warning", "has no effect with nixl: it belongs to mooncake")
    assert check(tmp_path, known, decode("MC_FORCE_TCP: 1", "transfer: mooncake\n")) == []
    (problem,) = check(tmp_path, known, decode("SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT: 300"))
    assert problem.error == "has no effect on decode: only prefill reads it"


def test_what_is_taken_away_is_judged_by_nobody(tmp_path: Path, known: Known) -> None:
    assert check(tmp_path, known, decode(f"{NOON}: ~, NOBODY_KNOWS_THIS: ~")) == []


def test_one_error_for_one_setting(tmp_path: Path, known: Known) -> None:
    there = Known(known.catalogue, engine(KNOWN))
    path = tmp_path / "p.yaml"
    env = "SGLANG_OTHER: 1, PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True'"
    path.write_text("name: p\nmodel: /m\n" + decode(env))
    loaded = examine(path).loaded
    told = (*check_names(loaded, engine(KNOWN)), *judge_profile(loaded))
    assert [problem.code for problem in told] == [None, "PD204"]
    assert check_declared(loaded, there, told) == []


def test_a_simulator_takes_what_it_knows_and_is_no_place_for_hangs(tmp_path: Path, known: Known) -> None:
    there = Known(known.catalogue, simulator_knobs())
    text = "engine: {{kind: simulator}}\nprefill: {{}}\ndecode: {{env: {{{env}}}}}\n"
    assert check(tmp_path, there, text.format(env=f"PDLAUNCH_SIM_TOKEN_MS: 5, {NOON}: 512")) == []
    (problem,) = check(tmp_path, there, text.format(env="PDLAUNCH_SIM_TOKN_MS: 5"))
    assert problem.write == "PDLAUNCH_SIM_TOKEN_MS: 5"


def test_each_slip_in_the_name_of_a_variable_is_caught(tmp_path: Path, known: Known) -> None:
    dice = random.Random(512)
    names = [name for name in known.catalogue if known.catalogue.entries(name)[0].declaration.kind == "env"]
    sample = dice.sample([name for name in names if 5 < len(name) < 40], 60)
    meant = {slip: name for name in sample for slip in slips(name, dice) if slip not in names}
    found = check(tmp_path, known, decode(", ".join(f"{slip}: 1" for slip in meant)))
    caught = {p.subject.removeprefix("decode.env.").removesuffix(" = 1"): p for p in found if p.severity == "error"}
    assert caught.keys() == meant.keys()
    assert len(caught) > 200
    right = sum((caught[slip].write or "").startswith(f"{name}: ") for slip, name in meant.items())
    assert right / len(meant) >= 0.95
