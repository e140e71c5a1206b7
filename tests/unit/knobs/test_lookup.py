"""Finding flags and variables by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.knobs import Abbreviation, EngineKnobs, EnvKnob, Flag, Unknown, find_env, find_flag, flipped, nearest

_OPTIONS = {
    "tp-size": ("tp-size", "tensor-parallel-size"),
    "cuda-graph-max-bs-decode": ("cuda-graph-max-bs-decode",),
    "cuda-graph-max-bs-prefill": ("cuda-graph-max-bs-prefill",),
    "chunked-prefill-size": ("chunked-prefill-size",),
    "enable-metrics": ("enable-metrics",),
    "port": ("port",),
}
_NAMES = (
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT",
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT",
    "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK",
    "SGLANG_TIMEOUT_KEEP_ALIVE",
    "NCCL_P2P_LEVEL",
)
KNOBS = EngineKnobs(
    "sglang",
    "0",
    flags={
        name: Flag(
            name,
            options,
            name.replace("-", "_"),
            "int",
            None,
            negations=("no-enable-metrics",) if name == "enable-metrics" else (),
        )
        for name, options in _OPTIONS.items()
    },
    env={name: EnvKnob(name, "int") for name in _NAMES},
)


@pytest.mark.parametrize("option", ["tp-size", "tensor-parallel-size"])
def test_every_spelling_finds_its_flag(option: str) -> None:
    found = find_flag(KNOBS, option)
    assert isinstance(found, Flag)
    assert found.name == "tp-size"
    assert found.aliases == ("tensor-parallel-size",)


def test_a_twin_finds_its_flag() -> None:
    found = find_flag(KNOBS, "no-enable-metrics")
    assert isinstance(found, Flag)
    assert found.name == "enable-metrics"
    assert found.has_no_twin


def test_a_unique_prefix_says_what_it_abbreviates() -> None:
    found = find_flag(KNOBS, "chunked-prefill")
    assert found == Abbreviation(("chunked-prefill-size",))
    assert not found.ambiguous


def test_a_prefix_of_two_options_is_ambiguous() -> None:
    found = find_flag(KNOBS, "cuda-graph-max-bs")
    assert found == Abbreviation(("cuda-graph-max-bs-decode", "cuda-graph-max-bs-prefill"))
    assert found.ambiguous


def test_an_exact_option_is_no_prefix() -> None:
    assert isinstance(find_flag(KNOBS, "port"), Flag)


@pytest.mark.parametrize("name", ["", "-", "zzz-zzz-zzz"])
def test_nothing_close_suggests_nothing(name: str) -> None:
    assert find_flag(KNOBS, name) == Unknown(())


def test_an_unknown_flag_names_the_nearest() -> None:
    assert find_flag(KNOBS, "chunked-prefil-size") == Unknown(("chunked-prefill-size",))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("SGLANG_DISAGGREGATION_WAITNG_TIMEOUT", "SGLANG_DISAGGREGATION_WAITING_TIMEOUT"),
        ("SGLANG_DISAGGREGATION_WATIING_TIMEOUT", "SGLANG_DISAGGREGATION_WAITING_TIMEOUT"),
        ("sglang_timeout_keep_alive", "SGLANG_TIMEOUT_KEEP_ALIVE"),
        ("SGL_TIMEOUT_KEEP_ALIVE", "SGLANG_TIMEOUT_KEEP_ALIVE"),
        ("TIMEOUT_KEEP_ALIVE", "SGLANG_TIMEOUT_KEEP_ALIVE"),
        ("VLLM_TIMEOUT_KEEP_ALIVE", "SGLANG_TIMEOUT_KEEP_ALIVE"),
        ("SGLANG_KEEP_ALIVE_TIMEOUT", "SGLANG_TIMEOUT_KEEP_ALIVE"),
        ("SGLANG_DISABLE_TP_MEMORY_INBALANCE_CHECK", "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK"),
        ("NCCL_P2P_LEVLE", "NCCL_P2P_LEVEL"),
    ],
)
def test_the_name_that_was_meant_comes_first(written: str, meant: str) -> None:
    found = find_env(KNOBS, written)
    assert isinstance(found, Unknown)
    assert found.nearest[0] == meant


def test_a_known_variable_is_found() -> None:
    assert find_env(KNOBS, "NCCL_P2P_LEVEL") == EnvKnob("NCCL_P2P_LEVEL", "int")


@given(st.sampled_from(_NAMES), st.data())
def test_one_slip_still_finds_the_name(name: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(name) - 2))
    letters = list(name)
    if data.draw(st.booleans()):
        del letters[position]
    else:
        letters[position], letters[position + 1] = letters[position + 1], letters[position]
    assert nearest("".join(letters), _NAMES)[0] == name


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=8), st.integers(0, 4))
def test_nearest_answers_only_with_given_names(name: str, names: list[str], n: int) -> None:
    found = nearest(name, names, n)
    assert len(found) <= n
    assert set(found) <= set(names)
    if name in names and n:
        assert found[0] == name


@pytest.mark.parametrize(
    ("name", "known", "opposite"),
    [
        ("SGLANG_DISABLE_TP_CHECK", ["SGLANG_ENABLE_TP_CHECK"], "SGLANG_ENABLE_TP_CHECK"),
        ("SGL_DISABLE_TP_CHECK", ["SGLANG_ENABLE_TP_CHECK"], "SGLANG_ENABLE_TP_CHECK"),
        ("SGLANG_DISABLE_TP_CHECK", ["SGLANG_TP_CHECK"], "SGLANG_TP_CHECK"),
        ("SGLANG_TP_CHECK", ["SGLANG_DISABLE_TP_CHECK"], "SGLANG_DISABLE_TP_CHECK"),
        ("SGLANG_ENABLE_TP_CHECK", ["SGLANG_SKIP_TP_CHECK"], "SGLANG_SKIP_TP_CHECK"),
        ("enable-radix-cache", ["disable-radix-cache"], "disable-radix-cache"),
        ("disable-metrics", ["enable-metrics", "metrics-port"], "enable-metrics"),
        ("SGLANG_DISABLE_TP_CHECK", ["SGLANG_DISABLE_TP_CHECK", "SGLANG_ENABLE_DP_CHECK"], None),
        ("PORT", ["SGLANG_PORT"], None),
    ],
)
def test_the_opposite_of_a_name(name: str, known: list[str], opposite: str | None) -> None:
    assert flipped(name, known) == opposite


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=6))
def test_the_opposite_is_one_of_the_names_and_never_itself(name: str, names: list[str]) -> None:
    found = flipped(name, names)
    assert found is None or (found in names and found != name)
