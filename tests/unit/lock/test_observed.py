from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.lock.fingerprint import fingerprint
from launcher.lock.observed import (
    LEFT_OUT,
    SECRET_KEYS,
    Resolved,
    asked,
    decided,
    measured,
    redacted,
    resolved,
    set_by_engine,
    values_of,
)

SECRET = "hf_s3cret-value"
KEYS = st.sampled_from([*sorted(SECRET_KEYS), "model_path", "internal_states"])
LEAVES = st.sampled_from([SECRET, f"Bearer {SECRET}", "plain", 1, 2.0, None, True])
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=20)


def keys_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_in, value.values()))
    return set().union(*map(keys_in, value)) if isinstance(value, list) else set()


@given(value=DOCUMENTS)
def test_no_key_and_no_secret_is_left_at_any_depth(value: Any) -> None:
    kept = redacted(value, [SECRET])
    assert SECRET not in json.dumps(kept)
    assert not keys_in(kept) & SECRET_KEYS
    assert redacted(kept, [SECRET]) == kept


def test_what_a_server_tells_is_kept_but_for_its_keys() -> None:
    said = {
        "api_key": "k1",
        "admin_api_key": "k2",
        "ssl_keyfile_password": "k3",
        "launch_command": "python -m sglang --api-key k1",
        "page_size": 256,
        "token": SECRET,
        "internal_states": [{"api_key": "k1", "memory_usage": {"weight": 40.5, "graph": 2.0}}],
    }
    assert redacted(said, [SECRET]) == {
        "page_size": 256,
        "token": LEFT_OUT,
        "internal_states": [{"memory_usage": {"weight": 40.5, "graph": 2}}],
    }


def test_a_short_secret_is_found_as_a_whole_only() -> None:
    assert redacted({"a": "1", "b": "10"}, ["1"]) == {"a": LEFT_OUT, "b": "10"}


@pytest.mark.parametrize(("value", "kept"), [(2.0, 2), (0.5, 0.5), (float("inf"), "inf"), (float("nan"), "nan")])
def test_numbers_have_one_form(value: float, kept: object) -> None:
    assert repr(redacted(value)) == repr(kept)


def test_flags_are_told_by_the_field_that_they_set() -> None:
    argv = [("python", "-m", "x"), ("--page-size", "64"), ("--enable-metrics",), ("--x=-1",), ("--many", "1", "2")]
    assert asked(argv) == {"page_size": ("64",), "enable_metrics": (), "x": ("-1",), "many": ("1", "2")}


@pytest.mark.parametrize(
    ("words", "value", "same"),
    [
        (("64",), 64, True),
        (("64",), 256, False),
        (("0.85",), 0.85, True),
        (("1.0",), 1, True),
        (("auto",), "fp8_e4m3", False),
        ((), True, True),
        ((), False, False),
        (("1", "2"), [1, 2], True),
        (("1", "2"), [1], False),
        (('{"a": 1}',), {"a": 1}, True),
        (("true",), True, True),
        (("x",), None, False),
    ],
)
def test_a_flag_that_came_out_otherwise_is_told(words: tuple[str, ...], value: Any, *, same: bool) -> None:
    found = resolved({"flag": value}, {"flag": words})
    assert found == ({} if same else {"flag": Resolved(asked=" ".join(words) or "on", gets=value)})


def test_a_flag_taken_back_by_its_twin() -> None:
    assert resolved({"cache": False}, {"no_cache": ()}) == {}
    assert resolved({"cache": True}, {"no_cache": ()}) == {"cache": Resolved(asked="off", gets=True)}


def test_what_nobody_asked_for_is_the_engines_decision() -> None:
    said = {
        "page_size": 256,
        "asked_for": 1,
        "off": False,
        "nothing": None,
        "empty": [],
        "random_seed": 4711,
        "turned_off": True,
        "internal_states": [{"page_size": 256, "memory_usage": {"weight": 40}, "env_vars": {"A": "1"}}, "odd"],
    }
    flags: dict[str, tuple[str, ...]] = {"asked_for": ("1",), "no_turned_off": ()}
    assert decided(said, flags) == {"page_size": 256}
    assert measured(said) == {"memory_usage": {"weight": 40}}


@pytest.mark.parametrize("said", [{}, {"internal_states": None}, {"internal_states": []}, {"internal_states": ["x"]}])
def test_a_server_that_tells_no_state_has_none(said: dict[str, Any]) -> None:
    assert measured(said) == {}


def test_what_the_engine_set_for_itself_is_told_without_secrets() -> None:
    given = {"LANG": "C.UTF-8", "NCCL_DEBUG": "INFO"}
    seen = [
        given | {"HF_TOKEN": SECRET, "RANK": "0", "COPY": SECRET, "INSIDE": f"x{SECRET}y"},
        given | {"HF_TOKEN": SECRET, "RANK": "1", "NCCL_DEBUG": "WARN", "SGLANG_RUN_ID": "sglang-run-1796102046"},
    ]
    assert set_by_engine(seen, given, {"HF_TOKEN"}) == {"NCCL_DEBUG": ("WARN",), "RANK": ("0", "1")}
    assert values_of(seen, {"HF_TOKEN", "OTHER"}) == {SECRET}


def test_a_fingerprint_shows_a_change_and_nothing_else() -> None:
    first = fingerprint(b"secret\n", b"key")
    assert len(first) == 8
    assert int(first, 16) >= 0
    assert fingerprint(b"secret\n\n", b"key") == first == fingerprint(b"secret", b"key")
    assert fingerprint(b"Secret\n", b"key") != first
    assert fingerprint(b"secret\n", b"another key") != first
