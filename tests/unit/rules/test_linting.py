"""Blocks of each kind that public recipes hold, against a small engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from launcher.knobs import EngineKnobs, EnvKnob, Flag, Place, Read, Reader
from launcher.knobs.catalogue import Catalogue, Entry
from launcher.knobs.declaration import Declaration
from launcher.profile import ArgValue
from launcher.rules.linting import Block, Linted, Linter

HERE = Place("srt/environ.py", 7)
INT = Reader("EnvInt", "int", otherwise="default")


def flag(name: str, type_: str = "str", **more: object) -> Flag:
    known: dict[str, object] = {"options": (name,), "dest": name.replace("-", "_"), "default": None}
    return Flag(name=name, type=type_, **(known | more))  # type: ignore[arg-type]  # a test's shorthand


FLAGS = (
    flag("tp-size", "int", options=("tensor-parallel-size", "tp-size")),
    flag("cuda-graph-max-bs-decode", "int"),
    flag("cuda-graph-max-bs-prefill", "int"),
    flag("dsa-decode-backend"),
    flag("disaggregation-transfer-backend", choices=("nixl", "mooncake")),
    flag("disable-radix-cache", "bool", nargs=0, action="store_true"),
    flag("old-switch", "bool", nargs=0, action="store_true", deprecated="Use --new."),
    flag("gone", refused=True, deprecated="It was removed."),
    flag("level", "int"),
)
ENV = (
    EnvKnob("SGLANG_WAIT", "int", 300, reader=INT, declared=HERE, reads=(Read(Place("srt/a.py", 3), "registry"),)),
    EnvKnob("SGLANG_OLD", "int", replaced_by="SGLANG_WAIT", deprecated="", deprecated_at=HERE),
    EnvKnob("NCCL_READ", "str", reads=(Read(Place("srt/b.py", 4), "os.environ"),)),
)
KNOBS = EngineKnobs(
    "sglang",
    "0.5.23",
    {each.name: each for each in FLAGS},
    {each.name: each for each in ENV},
    legacy_prefixes={"SGL_": "SGLANG_"},
)


def declaration(**said: object) -> Declaration:
    whole = {"about": "it", "claims": [{"says": "so", "source": "https://x.org", "status": "documented"}]}
    return Declaration.model_validate(whole | said)


DECLARED = (
    declaration(name="NCCL_DEBUG", kind="env", type="str", component="nccl", safe=[{"values": ["WARN"]}]),
    declaration(
        name="MC_ONLY",
        kind="env",
        type="int",
        component="mooncake",
        safe=[{"values": ["1"]}],
        transports=["mooncake"],
    ),
    declaration(
        name="level",
        kind="flag",
        type="int",
        component="sglang",
        safe=[{"min": 1, "max": 4}],
        bad=[
            {"value": "9", "does": "decode hangs"},
            {"value": "8", "does": "crashes", "when": {"gpu": "RTX PRO 6000"}},
        ],
        hazard="a hang",
    ),
)
LINTER = Linter(KNOBS, Catalogue({each.name: (Entry(each, Path("x.yaml"), 1),) for each in DECLARED}))


def lint(role: str = "decode", env: Mapping[str, str | None] | None = None, **args: ArgValue) -> Linted:
    return LINTER.lint(Block("b", role, env or {}, {name.replace("_", "-"): value for name, value in args.items()}))


def errors(linted: Linted) -> list[str]:
    return [str(found.path[-1]) for found in linted.findings if found.severity == "error"]


def test_what_the_engine_takes_is_no_alarm() -> None:
    linted = lint(
        env={"SGLANG_WAIT": "600", "NCCL_DEBUG": "WARN", "NOT_SET": None},
        tensor_parallel_size="8",
        disaggregation_transfer_backend="nixl",
        disable_radix_cache=True,
        level="4",
    )
    assert (linted.rejected_args, linted.unknown_env, linted.undeclared_env, errors(linted)) == ({}, (), (), [])


@pytest.mark.parametrize(
    ("name", "value", "reason", "says"),
    [
        ("cuda-graph-max-bs", "512", "ambiguous", "cuda-graph-max-bs-decode or cuda-graph-max-bs-prefill"),
        ("nsa-decode-backend", "trtllm", "unrecognized", "did you mean dsa-decode-backend"),
        ("prefill-round-robin-balance", True, "unrecognized", "no flag of sglang 0.5.23"),
        ("disaggregation-transfer-backend", "nccl", "invalid choice", "not one of nixl, mooncake"),
        ("tensor-parallel-size", "eight", "invalid int value", "not a whole number"),
        ("tp", "eight", "invalid int value", "not a whole number"),
        ("tp-size", True, "expected one argument", "takes a value"),
        ("level", "-1e5", "expected one argument", "not a whole number"),
        ("disable-radix-cache", "true", "unrecognized", "a switch"),
        ("gone", "1", "refused", "It was removed."),
        ("tp-size", ("1", "2"), "unrecognized", "one value, not a list"),
        ("old-switch", "1", "unrecognized", "a switch"),
    ],
)
def test_a_flag_that_is_refused_comes_with_its_reason_and_what_to_write(
    name: str, value: ArgValue, reason: str, says: str
) -> None:
    linted = LINTER.lint(Block("b", "decode", {}, {name: value}))
    assert linted.rejected_args == {name: reason}
    (found,) = (each for each in linted.findings if each.severity == "error")
    assert found.path == ("decode", "args", name)
    assert says in found.error


def test_a_flag_that_was_split_by_role_is_proposed_for_the_blocks_own() -> None:
    assert lint("decode", cuda_graph_max_bs="8").findings[0].write == "cuda-graph-max-bs-decode: 8"
    assert lint("prefill", cuda_graph_max_bs="8").findings[0].write == "cuda-graph-max-bs-prefill: 8"


def test_another_spelling_a_short_one_and_a_deprecated_one_are_taken_with_a_warning() -> None:
    linted = LINTER.lint(
        Block("b", "decode", {}, {"tensor-parallel-size": "8", "lev": "2", "old-switch": True, "radix": False})
    )
    assert (linted.rejected_args, errors(linted)) == ({}, [])
    assert [str(each.path[-1]) for each in linted.findings] == ["tensor-parallel-size", "lev", "old-switch", "radix"]


def test_one_flag_under_two_names_is_told() -> None:
    linted = LINTER.lint(Block("b", "decode", {}, {"tp-size": "8", "tp": "4", "tensor-parallel-size": None}))
    assert linted.rejected_args == {}
    assert [each.path[-1] for each in linted.findings if "the later one" in each.error] == ["tp"]


@pytest.mark.parametrize(
    ("name", "unknown", "undeclared"),
    [
        ("SGLANG_WAIT", False, False),
        ("SGLANG_OLD", False, False),
        ("SGL_WAIT", False, False),
        ("SGLANG_WIAT", True, False),
        ("SGL_WIAT", True, False),
        ("sglang_wait", False, True),
        ("NCCL_DEBUG", False, False),
        ("NCCL_READ", False, True),
        ("DYN_LOG", False, True),
    ],
)
def test_the_engines_namespace_is_its_own_and_other_variables_are_to_be_declared(
    name: str, unknown: bool, undeclared: bool
) -> None:
    linted = lint(env={name: "1"})
    assert linted.unknown_env == ((name,) if unknown else ())
    assert linted.undeclared_env == ((name,) if undeclared else ())


def test_variables_are_told_in_order_of_their_names() -> None:
    linted = lint(env={"SGLANG_Z": "1", "ZZ": "1", "SGLANG_A": "1", "AA": "1"})
    assert (linted.unknown_env, linted.undeclared_env) == (("SGLANG_A", "SGLANG_Z"), ("AA", "ZZ"))


def test_a_value_that_the_engine_takes_for_another_is_an_error_and_no_refusal() -> None:
    linted = lint(env={"SGLANG_WAIT": "600s"})
    assert (linted.unknown_env, errors(linted)) == ((), ["SGLANG_WAIT"])
    assert "warn once and use 300" in linted.findings[0].error


def test_what_is_known_bad_is_an_error_and_what_is_untested_a_warning() -> None:
    assert errors(lint(level="9")) == ["level"]
    assert [each.error.splitlines()[0] for each in lint(level="8").findings] == ["on RTX PRO 6000: known bad: crashes"]
    assert errors(lint(level="8")) == []
    untested = lint(level="7")
    assert (errors(untested), untested.rejected_args) == ([], {})
    assert "outside the safe range" in untested.findings[0].error


def test_a_variable_of_another_transport_has_no_effect() -> None:
    with_nixl = lint(env={"MC_ONLY": "1"}, disaggregation_transfer_backend="nixl")
    assert ["has no effect with nixl" in each.error for each in with_nixl.findings] == [True]
    assert lint(env={"MC_ONLY": "1"}, disaggregation_transfer_backend="mooncake").findings == ()


def test_a_role_of_its_own_is_no_hindrance() -> None:
    assert lint("agg-1", level="2").findings == ()
