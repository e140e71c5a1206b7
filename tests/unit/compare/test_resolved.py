"""Asked and running: resolution is the engine's right, another model is not."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.compare.resolved import resolved
from launcher.observe.live_server import ServerInfo

from .making import service


def told(arguments: dict[str, Any], environ: dict[str, str] | None = None, **asked: str) -> list[str]:
    made = service("decode-0", args={name.replace("_", "-"): value for name, value in asked.items()})
    found = resolved(made, ServerInfo(arguments, environ or {}), {"SGLANG_A": "1"})
    return [f"{f.kind}: {f}" for f in found]


def test_what_the_engine_made_of_a_flag_is_known() -> None:
    assert told({"page_size": 256}, page_size="64") == ["engine: decode-0  argument page_size  64 -> 256"]
    assert told({"kv_cache_dtype": "fp8_e4m3"}, kv_cache_dtype="auto") == [
        "engine: decode-0  argument kv_cache_dtype  auto -> fp8_e4m3"
    ]


def test_what_no_resolution_changes_is_an_alarm() -> None:
    assert told({"model_path": "/other"}, model_path="/m") == ["changed: decode-0  argument model_path  /m -> /other"]


@pytest.mark.parametrize(
    ("said", "asked"),
    [(64, "64"), (0.85, "0.85"), ("triton", "triton"), ({"a": 1}, '{"a": 1}')],
)
def test_the_same_value_in_another_form_is_the_same(said: Any, asked: str) -> None:
    assert told({"x": said}, x=asked) == []


def test_what_the_server_does_not_speak_of_is_not_compared() -> None:
    assert told({}, page_size="64") == []


def test_variables_that_the_scheduler_has_otherwise_are_the_engine_s() -> None:
    assert told({}, {"SGLANG_A": "1", "SGLANG_B": "2"}) == ["engine: decode-0  env SGLANG_B  unset -> 2"]
