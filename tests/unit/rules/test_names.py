from __future__ import annotations

from pathlib import Path

import pytest

from launcher.errors import Problem
from launcher.knobs import DynamicRead, EngineKnobs, EnvKnob, Flag, Place, Remark
from launcher.profile import Loaded, examine
from launcher.rules import check_names, simulator_knobs


def flag(
    name: str, *aliases: str, deprecated: str | None = None, replaced_by: str | None = None, refused: bool = False
) -> Flag:
    return Flag(
        name=name,
        options=(name, *aliases),
        dest=name.replace("-", "_"),
        type="int",
        default=None,
        deprecated=deprecated,
        replaced_by=replaced_by,
        refused=refused,
    )


FLAGS = (
    flag("context-length"),
    flag("chunked-prefill-size"),
    flag("cuda-graph-max-bs-prefill"),
    flag("cuda-graph-max-bs-decode"),
    flag("enable-hierarchical-cache", "enable-hicache"),
    flag("grpc-mode", deprecated="Use --smg-grpc-mode", replaced_by="--smg-grpc-mode"),
    flag("old-pool", deprecated="gone since 0.5", replaced_by="--new-pool=auto", refused=True),
)
ENV = (
    EnvKnob("SGLANG_TIMEOUT_KEEP_ALIVE", "int"),
    EnvKnob("SGLANG_OLD", "int", replaced_by="SGLANG_NEW"),
    EnvKnob("SGLANG_TIRED", "int", deprecated="Pass --rest instead."),
    EnvKnob("SGLANG_UNREAD", "bool", remarks=(Remark("unread", "nothing reads it", Place("srt/environ.py", 400)),)),
    EnvKnob("SGLANG_FORCED", "bool", remarks=(Remark("overwritten", "set to 8", Place("srt/engine.py", 9)),)),
)
KNOBS = EngineKnobs(
    engine="sglang",
    version="0.5.23",
    flags={each.name: each for each in FLAGS},
    env={each.name: each for each in ENV},
    dynamic=(
        DynamicRead(Place("srt/x.py", 1), "f'SGLANG_CACHE_{name}'", "SGLANG_CACHE_*"),
        DynamicRead(Place("x", 1), "n", "*"),
    ),
    mentions={"SGLANG_DOCUMENTED": Place("srt/y.py", 6)},
    legacy_prefixes={"SGL_": "SGLANG_"},
)


def loaded(tmp_path: Path, decode: str = "{}", engine: str = "kind: cpu", more: str = "") -> Loaded:
    path = tmp_path / "x.yaml"
    text = f"name: x\nengine: {{{engine}}}\nprefill: {{}}\ndecode: {decode}\nrouter: {{port: 8000{more}}}\n"
    path.write_text(text, encoding="utf-8")
    return examine(path).loaded


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


@pytest.mark.parametrize(
    ("name", "says", "write"),
    [
        ("contxt-length", "no flag of sglang 0.5.23; did you mean context-length?", "context-length: 32"),
        ("frobnicate", "no flag of sglang 0.5.23", "nothing, delete the line"),
        ("chunked-prefill", "an abbreviation of chunked-prefill-size", "chunked-prefill-size: 32"),
        ("cuda-graph-max-bs", "refused by sglang 0.5.23 as ambiguous", "cuda-graph-max-bs-decode: 32"),
        ("enable-hicache", "another spelling of enable-hierarchical-cache", "enable-hierarchical-cache: 32"),
        ("old-pool", "refused by sglang 0.5.23: gone since 0.5", "new-pool: auto"),
    ],
)
def test_flags_that_the_engine_does_not_take(tmp_path: Path, name: str, says: str, write: str) -> None:
    problem = only(check_names(loaded(tmp_path, f"{{args: {{{name}: 32}}}}"), KNOBS))
    assert problem.where.endswith("x.yaml:4")
    assert problem.severity == "error"
    assert says in problem.error
    assert problem.write == write


def test_a_deprecated_flag_is_a_warning(tmp_path: Path) -> None:
    problem = only(check_names(loaded(tmp_path, "{args: {grpc-mode: 1}}"), KNOBS))
    assert (problem.severity, problem.write) == ("warning", "smg-grpc-mode")


@pytest.mark.parametrize(
    ("name", "says", "write"),
    [
        ("SGLANG_TIMEOUT_KEEPALIVE", "neither declares nor reads it; did you mean", "SGLANG_TIMEOUT_KEEP_ALIVE: 1"),
        ("SGLANG_QQQ_WWW_EEE", "neither declares nor reads it", "nothing, delete the line, or declare"),
        ("SGLANG_DOCUMENTED", "(only mentioned, srt/y.py:6)", "nothing, delete the line, or declare"),
        ("SGL_TIMEOUT_KEEP_ALIVE", "overwrites SGLANG_TIMEOUT_KEEP_ALIVE", "SGLANG_TIMEOUT_KEEP_ALIVE: 1"),
        ("SGLANG_OLD", "its name is SGLANG_NEW now", "SGLANG_NEW: 1"),
        ("SGLANG_UNREAD", "no effect: nothing reads it  srt/environ.py:400", "nothing, delete the line"),
    ],
)
def test_variables_that_do_nothing(tmp_path: Path, name: str, says: str, write: str) -> None:
    problem = only(check_names(loaded(tmp_path, f"{{env: {{{name}: 1}}}}"), KNOBS))
    assert problem.severity == "error"
    assert says in problem.error
    assert (problem.write or "").startswith(write)


@pytest.mark.parametrize("name", ["SGLANG_TIRED", "SGLANG_FORCED"])
def test_variables_that_may_do_nothing_are_warned_of(tmp_path: Path, name: str) -> None:
    assert only(check_names(loaded(tmp_path, f"{{env: {{{name}: 1}}}}"), KNOBS)).severity == "warning"


@pytest.mark.parametrize("name", ["SGLANG_TIMEOUT_KEEP_ALIVE", "SGLANG_CACHE_SIZE", "NCCL_NO_SUCH", "ANYTHING"])
def test_variables_that_are_known_or_not_the_engines(tmp_path: Path, name: str) -> None:
    assert check_names(loaded(tmp_path, f"{{env: {{{name}: 1}}}}"), KNOBS) == []


def test_a_declaration_admits_a_name_that_only_this_engine_has(tmp_path: Path) -> None:
    profile = loaded(tmp_path, "{env: {SGLANG_FORK_ONLY: 1}}")
    assert len(check_names(profile, KNOBS)) == 1
    path = tmp_path / "x.yaml"
    path.write_text(profile.text + "knobs: {SGLANG_FORK_ONLY: {safe: 1}}\n", encoding="utf-8")
    assert check_names(examine(path).loaded, KNOBS) == []


def test_without_the_whole_tree_nobody_says_what_is_read(tmp_path: Path) -> None:
    declared = EngineKnobs("sglang", "0.5.23", flags=KNOBS.flags, env=KNOBS.env, whole=False)
    assert check_names(loaded(tmp_path, "{env: {SGLANG_QQQ: 1}}"), declared) == []


def test_the_router_has_flags_of_its_own(tmp_path: Path) -> None:
    router = EngineKnobs("sglang_router", "0.3.2", flags={"policy": flag("policy")})
    profile = loaded(tmp_path, more=", args: {polcy: x}")
    assert only(check_names(profile, KNOBS, router)).write == "policy: x"
    assert check_names(profile, KNOBS) == []


class TestTheSimulator:
    def test_refuses_a_slip_and_warns_of_what_it_only_records(self, tmp_path: Path) -> None:
        profile = loaded(tmp_path, "{args: {contxt-length: 1, enable-something-unheard-of: true}}", "kind: simulator")
        slip, recorded = check_names(profile, simulator_knobs())
        assert (slip.severity, slip.write) == ("error", "context-length: 1")
        assert recorded.severity == "warning"

    def test_takes_the_variables_of_sglang_without_reading_them(self, tmp_path: Path) -> None:
        profile = loaded(tmp_path, "{env: {SGLANG_SOMETHING: 1}}", "kind: simulator")
        assert check_names(profile, simulator_knobs()) == []


@pytest.mark.parametrize(("value", "turned"), [("1", "false"), ("true", "false"), ("0", "true"), ("often", "...")])
def test_a_name_that_says_the_opposite_is_proposed_with_the_opposite_value(
    tmp_path: Path, value: str, turned: str
) -> None:
    switch = Flag("disable-cache", ("disable-cache",), "disable_cache", "bool", default=False, nargs=0)
    env = {"SGLANG_ENABLE_CHECK": EnvKnob("SGLANG_ENABLE_CHECK", "bool"), "SGLANG_TIME": EnvKnob("SGLANG_TIME", "int")}
    knobs = EngineKnobs("sglang", "0.5.23", {switch.name: switch}, env)

    def told(decode: str) -> Problem:
        return only(check_names(loaded(tmp_path, decode), knobs))

    variable = told(f"{{env: {{SGLANG_DISABLE_CHECK: {value}}}}}")
    assert "SGLANG_ENABLE_CHECK says the opposite" in variable.error
    assert variable.write == f"SGLANG_ENABLE_CHECK: {turned}"
    assert told(f"{{args: {{enable-cache: {value}}}}}").write == f"disable-cache: {turned}"
    assert "opposite" not in told(f"{{env: {{SGLANG_DISABLE_TIME: {value}}}}}").error


def test_a_name_that_only_a_catalogue_knows_may_have_been_meant(tmp_path: Path) -> None:
    profile = loaded(tmp_path, "{env: {SGLANG_FORKED_NOB: 1}}")
    assert only(check_names(profile, KNOBS, None, ["SGLANG_FORKED_KNOB"])).write == "SGLANG_FORKED_KNOB: 1"
