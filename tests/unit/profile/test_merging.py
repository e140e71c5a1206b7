from __future__ import annotations

from pathlib import Path

import pytest

from launcher.profile import Loaded, load, settings_of

TEXT = """\
name: x
model: /m
engine:
  venv: /v
  env: {NCCL_P2P_LEVEL: SYS, ONLY: engine}
  args: {context-length: 4096, disable-radix-cache: true}
  secrets: {HF_TOKEN: /etc/hf}
prefill:
  env: {B: 1}
  replicas:
    - gpus: 0-1
    - gpus: 2-3
      env: {NCCL_P2P_LEVEL: PHB}
decode:
  gpus: 4-7
  env: {NCCL_P2P_LEVEL: ~}
  args: {disable-radix-cache: false}
  secrets: {HF_TOKEN: ~}
router: {port: 8000, args: {policy: round_robin}}
"""


@pytest.fixture(name="loaded")
def _loaded(tmp_path: Path) -> Loaded:
    path = tmp_path / "x.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return load(path)


@pytest.mark.parametrize(
    ("role", "index", "value", "line"),
    [("prefill", 0, "SYS", 5), ("prefill", 1, "PHB", 13), ("decode", 0, None, 16)],
)
def test_the_most_specific_level_wins_with_its_line(
    loaded: Loaded, role: str, index: int, value: str | None, line: int
) -> None:
    written = settings_of(loaded, role, index).env["NCCL_P2P_LEVEL"]
    assert (written.value, written.line) == (value, line)
    assert loaded.lines.at(*written.path) == line


def test_names_of_all_levels_come_together(loaded: Loaded) -> None:
    assert list(settings_of(loaded, "prefill", 1).env) == ["NCCL_P2P_LEVEL", "ONLY", "B"]
    decode = settings_of(loaded, "decode")
    assert decode.args["context-length"].value == "4096"
    assert decode.args["disable-radix-cache"].value is False
    assert decode.secrets["HF_TOKEN"].value is None
    assert settings_of(loaded, "prefill").secrets["HF_TOKEN"].value == "/etc/hf"


def test_the_router_shares_nothing_with_the_engine(loaded: Loaded) -> None:
    router = settings_of(loaded, "router")
    assert {name: w.value for name, w in router.args.items()} == {"policy": "round_robin"}
    assert router.env == {}


def test_a_role_that_is_not_there_is_told_nothing(loaded: Loaded) -> None:
    assert settings_of(loaded, "aggregated").args == {}
