"""The plan as a whole: pure, the same for the same input, blind to comments, order and line numbers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.plan import DIGEST, Plan, resolve
from launcher.profile import load
from launcher.shipped import shipped
from launcher.store import plan_digest

from .making import FACTS, SIX, env, flags, planned, service

PROFILES = sorted(path.name for path in shipped("profiles").glob("*.yaml"))


def digests(plan: Plan) -> dict[str, str]:
    return {s.name: s.digest() for s in plan.services} | {"": plan_digest(plan, FACTS.snapshot)}


def test_six_lines_become_two_servers_and_a_router(tmp_path: Path) -> None:
    plan = planned(tmp_path, SIX)
    assert [s.name for s in plan.services] == ["prefill-0", "decode-0", "router"]
    assert (plan.deployment, plan.model_name, plan.transfer, plan.backend) == ("six", "six", "nixl", "supervisord")
    assert service(plan, "prefill-0").words() == (
        *("/opt/sglang/venv/bin/python", "-m", "sglang.launch_server"),
        *("--model-path", "/models/six", "--served-model-name", "six", "--host", "127.0.0.1", "--port", "31000"),
        *("--nccl-port", "31002", "--tp-size", "4", "--base-gpu-id", "0", "--disaggregation-mode", "prefill"),
        *("--disaggregation-transfer-backend", "nixl", "--disaggregation-bootstrap-port", "31003", "--enable-metrics"),
    )
    assert service(plan, "decode-0").words() == (
        *("/opt/sglang/venv/bin/python", "-m", "sglang.launch_server"),
        *("--model-path", "/models/six", "--served-model-name", "six", "--host", "127.0.0.1", "--port", "31010"),
        *("--nccl-port", "31012", "--tp-size", "4", "--base-gpu-id", "4", "--disaggregation-mode", "decode"),
        *("--disaggregation-transfer-backend", "nixl", "--disaggregation-bootstrap-port", "31003", "--enable-metrics"),
    )
    assert service(plan, "router").words() == (
        *("/opt/sglang/venv/bin/python", "-m", "sglang_router.launch_router", "--host", "127.0.0.1", "--port", "8000"),
        *("--pd-disaggregation", "--prefill", "http://127.0.0.1:31000", "31003", "--decode", "http://127.0.0.1:31010"),
        *("--prometheus-host", "127.0.0.1", "--prometheus-port", "31020"),
        *("--worker-startup-check-interval", "1", "--worker-startup-timeout-secs", "1800"),
    )


def test_each_value_says_where_it_came_from(tmp_path: Path) -> None:
    decode = service(planned(tmp_path, SIX), "decode-0")
    origins = {argument.words[0]: str(argument.origin) for argument in decode.argv[1:]}
    assert origins == {
        "--model-path": "six.yaml:2",
        "--served-model-name": "pdlaunch",
        "--host": "pdlaunch",
        "--port": "pdlaunch",
        "--nccl-port": "pdlaunch",
        "--tp-size": "six.yaml:5  gpus",
        "--base-gpu-id": "six.yaml:5  gpus",
        "--disaggregation-mode": "pdlaunch",
        "--disaggregation-transfer-backend": "pdlaunch",
        "--disaggregation-bootstrap-port": "pdlaunch",
        "--enable-metrics": "pdlaunch",
    }
    assert str(decode.argv[0].origin) == "six.yaml:3"


@pytest.mark.parametrize("name", PROFILES)
def test_the_same_input_gives_the_same_bytes_wherever_one_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(shipped("profiles") / name)
    first = resolve(loaded, FACTS).model_dump_json()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/elsewhere")
    monkeypatch.setenv("SGLANG_SM120_MMA_TARGET_CTAS", "512")
    assert resolve(load(shipped("profiles") / name), FACTS).model_dump_json() == first


def _shuffled(value: Any, draw: st.DrawFn) -> Any:
    """The same settings with the keys of every mapping in another order; lists keep theirs, it means something."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: _shuffled(value[key], draw) for key in keys}
    return [_shuffled(item, draw) for item in value] if isinstance(value, list) else copy.copy(value)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", PROFILES)
@given(data=st.data())
def test_comments_and_order_are_in_no_digest(name: str, tmp_path: Path, data: st.DataObject) -> None:
    text = (shipped("profiles") / name).read_text()
    before = digests(planned(tmp_path, text))
    settings_ = yaml.load(text, yaml.BaseLoader)  # noqa: S506  every scalar as it is written
    shuffled = data.draw(st.composite(lambda draw: _shuffled(settings_, draw))())
    comment = "".join(f"# {line}\n" for line in data.draw(st.lists(st.text("abc 123:-", max_size=9), max_size=5)))
    plain = yaml.dump(shuffled, sort_keys=False, Dumper=_Plain)
    assert digests(planned(tmp_path, comment + plain)) == before


class _Plain(yaml.SafeDumper):
    """Writes every scalar without quotes where that can be read back, as a person would."""


_Plain.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text))
_Plain.yaml_implicit_resolvers = {}


def test_another_name_of_the_file_and_other_lines_are_in_no_digest(tmp_path: Path) -> None:
    first, second = planned(tmp_path, SIX), planned(tmp_path, "\n\n" + SIX, name="other.yaml")
    assert digests(first) == digests(second)
    assert first != second


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (("decode: {gpus: 4-7}", "decode: {gpus: 4-7, env: {A: 1}}"), {"decode-0"}),
        (("decode: {gpus: 4-7}", "decode: {gpus: 4-7, args: {log-level: info}}"), {"decode-0"}),
        (("decode: {gpus: 4-7}", "decode: {gpus: 4-7, secrets: {T: /etc/t}}"), {"decode-0"}),
        (("decode: {gpus: 4-7}", "decode: {gpus: 4-7, nccl_port: 31500}"), {"decode-0"}),
        (("prefill: {gpus: 0-3}", "prefill: {gpus: 0-3, bootstrap_port: 31500}"), {"prefill-0", "decode-0", "router"}),
        (("router: {port: 8000}", "router: {port: 8001}"), {"router"}),
        (("engine: {", "engine: {env: {A: 1}, "), {"prefill-0", "decode-0"}),
        (("engine: {", "engine: {user: anna, "), {"prefill-0", "decode-0", "router"}),
    ],
)
def test_a_change_is_in_the_digest_of_what_it_changes(tmp_path: Path, edit: tuple[str, str], changed: set[str]) -> None:
    before, after = digests(planned(tmp_path, SIX)), digests(planned(tmp_path, SIX.replace(*edit)))
    assert {name for name in before if before[name] != after[name]} == changed | {""}


def test_how_it_stops_and_what_it_waits_for_change_the_deployment_and_no_service(tmp_path: Path) -> None:
    before = digests(planned(tmp_path, SIX))
    for more in ("stop: {drain: 1s, kill: 2s}", "restart: {tries: 1}", "ready: {probe: 'ladder:64k'}"):
        after = digests(planned(tmp_path, f"{SIX}{more}\n"))
        assert {name for name in before if before[name] != after[name]} == {""}, more


def test_an_edit_of_the_engine_restarts_the_servers_and_not_the_router(tmp_path: Path) -> None:
    edited = FACTS.model_copy(update={"snapshot": "another"})
    before, after = digests(planned(tmp_path, SIX)), digests(planned(tmp_path, SIX, edited))
    assert {name for name in before if name and before[name] != after[name]} == {"prefill-0", "decode-0"}


def test_each_service_carries_its_own_digest(tmp_path: Path) -> None:
    for found in planned(tmp_path, SIX).services:
        assert env(found)[DIGEST] == found.digest()


class TestMostSpecificWins:
    TEXT = """\
name: levels
model: /models/levels
engine:
  venv: /opt/sglang/venv
  args: {log-level: info, stream-interval: 1}
  env: {A: engine, B: engine, C: engine, LANG: C}
  secrets: {S: /etc/engine, T: /etc/engine}
prefill:
  args: {log-level: warning}
  env: {B: role, C: role}
  secrets: {S: /etc/role}
  replicas:
    - gpus: 0-1
    - gpus: 2-3
      args: {log-level: error, stream-interval: ~}
      env: {C: replica, A: ~, TMPDIR: ~}
      secrets: {T: ~}
decode: {gpus: 4-7, env: {B: ~}}
router: {port: 8000, env: {A: router}}
"""

    def test_engine_role_replica(self, tmp_path: Path) -> None:
        plan = planned(tmp_path, self.TEXT)
        zero, one = service(plan, "prefill-0"), service(plan, "prefill-1")
        assert {k: env(zero).get(k) for k in "ABC"} == {"A": "engine", "B": "role", "C": "role"}
        assert {k: env(one).get(k) for k in "ABC"} == {"A": None, "B": "role", "C": "replica"}
        assert {k: env(service(plan, "decode-0")).get(k) for k in "ABC"} == {"A": "engine", "B": None, "C": "engine"}
        assert (flags(zero)["--log-level"], flags(zero)["--stream-interval"]) == ("warning", "1")
        assert (flags(one)["--log-level"], flags(one).get("--stream-interval")) == ("error", None)
        assert {s.name: s.file for s in zero.secrets} == {"S": "/etc/role", "T": "/etc/engine"}
        assert {s.name: s.file for s in one.secrets} == {"S": "/etc/role"}

    def test_each_value_has_the_line_it_came_from(self, tmp_path: Path) -> None:
        one = service(planned(tmp_path, self.TEXT), "prefill-1")
        lines = {v.name: v.origin.line for v in one.env if v.origin.kind == "profile"}
        assert (lines["B"], lines["C"], lines["LANG"]) == (10, 16, 6)

    def test_a_tilde_takes_away_from_the_base_too(self, tmp_path: Path) -> None:
        plan = planned(tmp_path, self.TEXT)
        assert "TMPDIR" in env(service(plan, "prefill-0"))
        assert "TMPDIR" not in env(service(plan, "prefill-1"))

    def test_the_router_shares_nothing_with_the_engine(self, tmp_path: Path) -> None:
        router = service(planned(tmp_path, self.TEXT), "router")
        assert env(router)["A"] == "router"
        assert not {"B", "C"} & env(router).keys()
        assert (env(router)["LANG"], router.secrets) == ("C.UTF-8", ())


def test_what_decides_the_first_prompt_is_read_from_the_command_lines(tmp_path: Path) -> None:
    plan = planned(tmp_path, SIX)
    assert (plan.chunk, plan.context) == (8192, None)
    args = "{args: {context-length: 4096, chunked-prefill-size: 512}, gpus: 0-3}"
    plan = planned(tmp_path, SIX.replace("{gpus: 0-3}", args).replace("{gpus: 4-7}", args.replace("0-3", "4-7")))
    assert (plan.chunk, plan.context) == (512, 4096)


def test_without_the_engine_here_the_plan_is_made_all_the_same_and_says_so(tmp_path: Path) -> None:
    plan = planned(tmp_path, SIX, FACTS.model_copy(update={"engine": None, "router": None}))
    assert service(plan, "decode-0").words()[0] == "/opt/sglang/venv/bin/python"
    assert service(plan, "router").words()[0] == "/opt/sglang/venv/bin/python"
    (note,) = plan.notes
    assert note == "the serving environment is not on this machine, so its version and its source are not known here"
    assert plan.engine.version == "unknown"
