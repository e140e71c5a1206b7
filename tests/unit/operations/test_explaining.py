from __future__ import annotations

import json
from pathlib import Path

import pytest

from launcher.cli import knobs_view
from launcher.cli.app import run
from launcher.cli.knobs_commands import explain as explain_command
from launcher.cli.knobs_commands import knobs as knobs_command
from launcher.errors import InputError
from launcher.knobs import EngineKnobs, EnvKnob, Place, Read
from launcher.knobs.catalogue import catalogue
from launcher.operations import explaining
from launcher.operations.explaining import Here, explain, undeclared
from launcher.plan.model import Argument, Origin, Secret, Service, Variable

NOON = "SGLANG_SM120_MMA_TARGET_CTAS"
PROFILE = f"""\
name: p
model: /m
engine: {{venv: /opt/nowhere}}
prefill: {{gpus: 0-3}}
decode:
  gpus: 4-7
  env: {{{NOON}: 512}}
router: {{port: 8000}}
knobs:
  {NOON}: {{safe: unset, bad: {{512: hangs}}, why: seen}}
allow:
  - {{what: decode.env.{NOON}=512, why: tried, by: anna, until: 2099-12-08}}
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No catalogue, engine or deployment of this machine takes part."""
    for variable in ("XDG_CONFIG_HOME", "PDLAUNCH_CACHE_DIR", "PDLAUNCH_STATE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.setattr(explaining, "knobs_of", lambda *_: None)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "p.yaml"
    path.write_text(PROFILE)
    return path


def test_a_knob_is_explained_with_its_value_its_origin_and_who_says_what(profile: Path) -> None:
    text = knobs_view.explained(explain(NOON, profile=profile))
    assert text.startswith(f"{NOON}   int, environment, sglang, only in a fork\n")
    assert f"  now         decode-0: 512     {profile}:7\n" in text
    assert "  safe        unset     fork.yaml:" in text
    assert '"decode hangs once the context has grown; short requests pass"' in text
    assert "  untested    everything else\n" in text
    assert f'  profile     safe: unset, bad: 512 "hangs", because seen     {profile}:10\n' in text
    assert "(restart decode); cannot change answers; its effect depends on the context length" in text
    assert "  said by     measured" in text
    assert "2026-12-01  8x RTX PRO 6000" in text


def test_a_name_that_nobody_knows_is_an_error_with_what_was_meant() -> None:
    with pytest.raises(InputError, match="did you mean SGLANG_SWA_EVICTION_INTERVAL") as caught:
        explain("SGLANG_SWA_EVICTION_INTERVL")
    assert caught.value.hint == "pdlaunch explain SGLANG_SWA_EVICTION_INTERVAL"


def test_a_recorded_service_is_read_by_flag_variable_and_secret() -> None:
    origin = Origin(kind="profile", file="p.yaml", line=3)
    service = Service(
        name="decode-0",
        role="decode",
        argv=(
            Argument(words=("python", "-m", "sglang"), origin=origin),
            Argument(words=("--a", "1", "2"), origin=origin),
            Argument(words=("--b=-1",), origin=origin),
            Argument(words=("--c",), origin=origin),
        ),
        env=(Variable(name="X", value="y", origin=origin),),
        secrets=(Secret(name="HF_TOKEN", file="/f", origin=origin),),
        host="127.0.0.1",
        ports={},
    )
    found = {name: explaining._recorded(name, service).value for name in ("a", "b", "c", "X", "HF_TOKEN", "d")}
    assert found == {"a": "1 2", "b": "-1", "c": "set", "X": "y", "HF_TOKEN": "a secret", "d": None}
    assert explaining._recorded("X", service) == Here("decode-0", "y", "p.yaml:3")


def test_undeclared_are_those_that_the_server_reads_and_nobody_knows() -> None:
    reads = (Read(Place("srt/a.py", 1), "registry"),)
    names = {"SGLANG_NEW": reads, "SGLANG_UNREAD": (), "NCCL_ALGO": reads}
    engine = EngineKnobs("sglang", "1", {}, {name: EnvKnob(name, "int", reads=read) for name, read in names.items()})
    assert [knob.name for knob in undeclared(catalogue(), engine)] == ["SGLANG_NEW"]


def test_the_list_can_be_narrowed_and_read_by_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert knobs_command(["mooncake", "force"], json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert [knob["name"] for knob in found["knobs"]] == ["MC_FORCE_HCA", "MC_FORCE_MNNVL", "MC_FORCE_TCP"]
    assert found["knobs"][0]["declared_in"][0].startswith("ucx-nixl.yaml:")
    assert knobs_command(["mc_force_tcp"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["MC_FORCE_TCP", "mooncake", "1", "documented"]
    with pytest.raises(InputError, match="no declared knob has nonsense"):
        knobs_command(["nonsense"])


def test_an_explanation_can_be_read_by_a_program(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_command(NOON, profile=profile, json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["declarations"][0]["bad"][0]["value"] == "512"
    values = {each["service"]: each["value"] for each in found["values"]["services"]}
    assert values == {"prefill-0": None, "decode-0": "512", "router": None}


def test_a_rule_is_explained_by_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_command("PD204") == 0
    assert capsys.readouterr().out.startswith("PD204  no expandable segments where NIXL moves the KV cache\n")


def test_declare_says_what_it_would_write(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["declare", "SITE_OWN", "--why", "ours", "--value", "1", "--profile", str(profile), "--dry-run"]
    assert run(line) == 0
    assert capsys.readouterr().out == f'would write to {profile}:\n  SITE_OWN:\n    safe: "1"\n    why: "ours"\n'
    assert profile.read_text() == PROFILE
