from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from launcher.backends.processes import Proc
from launcher.cli import knobs_view
from launcher.cli.app import run
from launcher.cli.knobs_commands import explain as explain_command
from launcher.cli.knobs_commands import knobs as knobs_command
from launcher.errors import InputError
from launcher.knobs import EngineKnobs, EnvKnob, Place, Read, Remark
from launcher.knobs.catalogue import catalogue
from launcher.observe.live import LiveProcess, LiveService
from launcher.observe.live_server import ServerInfo
from launcher.operations import explaining
from launcher.operations.explaining import Explained, explain, undeclared
from launcher.operations.knob_values import Here, Live, _live, recorded
from launcher.plan.model import Argument, Origin, Secret, Service, Variable
from launcher.profile import Waiver
from launcher.render.bundle import Bundle
from launcher.store import Store, layout

from ..compare.making import plan, service

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
    text = told(explain(NOON, profile=profile))
    assert text.startswith(f"{NOON} whole number, environment, sglang, only in a fork How many ")
    assert f" now prefill-0, router: unset {profile} decode-0: 512 {profile}:7 " in text
    assert " safe unset fork.yaml:" in text
    assert '"decode hangs once the context has grown; short requests pass"' in text
    assert " untested everything else " in text
    assert f' profile safe: unset, bad: 512 "hangs", because seen {profile}:10 ' in text
    assert "(restart decode); cannot change answers; its effect depends on the context length" in text
    assert " said by measured 512 served short requests" in text
    assert "(2026-12-01 8x RTX PRO 6000) this project: the incident of 2026-12-01" in text


def told(explained: Explained) -> str:
    """An explanation with single spaces: where a line ends is not what these are about."""
    text = knobs_view.explained(explained)
    long = [line for line in text.splitlines() if len(line) > 100]
    assert all(len(line.split()) <= 4 for line in long), "only what cannot be broken is longer than a page is wide"
    return re.sub(r"\s+", " ", text)


def test_each_replica_is_told_with_the_line_that_decides_and_so_is_what_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("p.yaml")
    path.write_text(
        "name: p\nmodel: /m\nengine:\n  env: {NCCL_P2P_LEVEL: SYS}\nprefill:\n  replicas:\n    - gpus: 0-1\n"
        "    - gpus: 2-3\n      env: {NCCL_P2P_LEVEL: PHB}\ndecode:\n  gpus: 4-7\n  env: {NCCL_P2P_LEVEL: ~}\n"
        "router: {port: 1}\n"
    )
    lines = knobs_view.explained(explain("NCCL_P2P_LEVEL", profile=path)).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("  now "))
    found = [re.sub(r"\s+", " ", line) for line in lines[at : at + 4]]
    assert found == [
        " now prefill-0: SYS p.yaml:4",
        " prefill-1: PHB p.yaml:9",
        " decode-0: unset p.yaml:12 (taken away)",
        " router: unset p.yaml",
    ]


def generation(store: Store, env: Mapping[str, str], *, by: str, why: str, allowed: tuple[Waiver, ...] = ()) -> int:
    made = plan(service("prefill-0"), service("decode-0", env=env), service("router"))
    made = made.model_copy(update={"allowed": allowed})
    number = store.commit(b"", made, Bundle({}), snapshot_digest=None, by=by, why=why, source="/x/p.yaml").number
    store.set_current(number, by=by, why=why)
    return number


def test_the_history_has_each_turn_who_took_it_and_who_allowed_it() -> None:
    store = Store(layout("pd"))
    store.layout.engines.mkdir(parents=True)
    waiver = Waiver(what=f"decode.env.{NOON}=512", why="+6 %", by="anna", until=dt.date(2999, 1, 1))
    generation(store, {}, by="anna", why="first")
    generation(store, {NOON: "512"}, by="assistant", why="+6 %", allowed=(waiver,))
    generation(store, {NOON: "512", "NCCL_DEBUG": "INFO"}, by="assistant", why="louder")
    store.set_current(1, by="anna", why="rollback --to noon")
    found = explain(NOON, store=store)
    assert [(t.generation, t.before, t.after, t.by, t.waiver) for t in found.history] == [
        (1, "512", None, "anna", None),
        (2, None, "512", "assistant", waiver),
    ]
    text = told(found)
    assert ' 1 512 -> unset anna "rollback --to noon"' in text
    assert ' 2 unset -> 512 assistant "+6 %", waived until Tue 1 Jan 2999' in text
    assert " now unset generation 1 " in text


def live_service(cmdline: tuple[str, ...], environ: Mapping[str, str] | None) -> LiveService:
    proc = Proc(pid=7, started=1, ppid=1, pgid=7, service="decode-0", cmdline=cmdline)
    return LiveService("decode-0", LiveProcess(proc, environ, "/v/bin/python"), (), supervised=True)


def test_what_runs_is_told_where_it_is_not_what_is_recorded() -> None:
    asked = service("decode-0", args={"page-size": "64"}, env={"SGLANG_X": "1"})
    words = (*asked.argv[0].words, "--page-size", "128")
    now = live_service(words, {"SGLANG_X": "1"})
    said = ServerInfo({"page_size": 256}, {"SGLANG_X": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "8"})
    assert [_live(name, asked, now, said) for name in ("page-size", "SGLANG_X", "CUDA_DEVICE_MAX_CONNECTIONS")] == [
        Live("decode-0", "128", pending=True, engine="256"),
        Live("decode-0", "1", pending=False),
        Live("decode-0", None, pending=False, engine="8"),
    ]
    assert _live("SGLANG_X", asked, live_service(words, None), None) is None
    explained = Explained("page-size", live=(Live("decode-0", "128", pending=True, engine="256"),))
    assert " running decode-0: 128, pending restart decode-0: the engine itself made it 256" in told(explained)


def test_of_a_variable_without_effect_that_is_the_answer() -> None:
    remark = Remark("read-as", "nothing reads it: the engine reads SGL_X", Place("srt/a.py", 3))
    knob = EnvKnob("SGLANG_FORCE_SHUTDOWN", "bool", False, remarks=(remark,))
    lines = knobs_view.explained(
        Explained("SGLANG_FORCE_SHUTDOWN", catalogue().entries("SGLANG_FORCE_SHUTDOWN"), knob, "sglang 1")
    ).splitlines()
    assert lines[1] == "  no effect   nothing reads it: the engine reads SGL_X  srt/a.py:3"


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
    found = {name: recorded(name, service).value for name in ("a", "b", "c", "X", "HF_TOKEN", "d")}
    assert found == {"a": "1 2", "b": "-1", "c": "set", "X": "y", "HF_TOKEN": "a secret", "d": None}
    assert recorded("X", service) == Here("decode-0", "y", "p.yaml:3")


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
