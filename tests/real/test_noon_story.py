"""The story that pdlaunch exists for: one variable and one hot edit since noon, found and taken back.

On the simulator, and on real SGLang with NIXL and the router (the CPU engine).
"""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import launcher
from launcher.engines import installed_cpu
from launcher.observe.http import Endpoint
from launcher.observe.running import running
from launcher.shipped import shipped
from launcher.store import layout

from ..deployments import Deployment, pair

pytestmark = pytest.mark.real

NOON = "SGLANG_SM120_MMA_TARGET_CTAS"
MARKER = "\n\ndef edited_by_hand():\n    return True\n"


@pytest.fixture
def simulated(
    tmp_path: Path, free_port: Callable[[], int], router_venv: Path, assigned_ports: None
) -> Iterator[tuple[Deployment, Path]]:
    fork = tmp_path / "fork"
    shutil.copytree(Path(launcher.__file__).parent / "simulator", fork / "launcher" / "simulator")
    shutil.copy(Path(launcher.__file__), fork / "launcher")
    made = pair(tmp_path, free_port, router_venv, "agents")
    made.settings["engine"]["source"] = str(fork)
    yield made, fork / "launcher" / "simulator" / "tokens.py"
    made.end()


@pytest.fixture
def real(
    tmp_path: Path, free_port: Callable[[], int], installed_engines: Path, assigned_ports: None
) -> Iterator[tuple[Deployment, Path]]:
    engine = installed_cpu(installed_engines)
    assert engine is not None, "install it first: pdlaunch engine install cpu"
    package = next(engine.venv.glob("lib/python3*/site-packages/sglang"))
    fork = tmp_path / "fork"
    shutil.copytree(package, fork / "python" / "sglang", ignore=shutil.ignore_patterns("multimodal_gen", "test"))
    settings = yaml.safe_load((shipped("profiles") / "cpu-tiny.yaml").read_text())
    settings |= {"name": "agents", "ready": {"within": "10m"}}
    settings["engine"]["source"] = str(fork)
    settings["prefill"] = {"port": free_port(), "nccl_port": free_port(), "bootstrap_port": free_port()}
    settings["decode"] |= {"port": free_port(), "nccl_port": free_port()}
    settings["router"]["port"] = free_port()
    made = Deployment(tmp_path, settings)
    yield made, fork / "python" / "sglang" / "srt" / "disaggregation" / "utils.py"
    made.end()


def test_on_the_simulator(simulated: tuple[Deployment, Path]) -> None:
    deployment, file = simulated
    # Of this file nothing bad is known; a time-out can at least look like a hang.
    tell_the_story(deployment, file, riskiest_first=["SGLANG_TIMEOUT_KEEP_ALIVE", "tokens.py"])


@pytest.mark.timeout(1500)
def test_on_real_sglang(real: tuple[Deployment, Path]) -> None:
    deployment, file = real
    # The file lies in the transfer path, which comes before time-outs.
    tell_the_story(deployment, file, riskiest_first=["utils.py", "SGLANG_TIMEOUT_KEEP_ALIVE"])


@pytest.fixture
def dsv4_flash(tmp_path: Path, free_port: Callable[[], int], router_venv: Path) -> Iterator[Deployment]:
    """The shipped profile, with simulators in the place of SGLang and its cards."""
    settings = yaml.safe_load((shipped("profiles") / "dsv4-flash.yaml").read_text())
    settings |= {"backend": "supervisord", "ready": {"within": "60s"}, "stop": {"drain": "1s", "kill": "3s"}}
    for key in ("venv", "version", "source", "user"):
        del settings["engine"][key]
    settings["engine"]["kind"] = "simulator"
    del settings["model"]
    for role in ("prefill", "decode"):
        del settings[role]["gpus"]
        settings[role] |= {"port": free_port(), "nccl_port": free_port()}
    settings["prefill"]["bootstrap_port"] = free_port()
    settings["router"] |= {"port": free_port(), "metrics_port": free_port(), "venv": str(router_venv)}
    made = Deployment(tmp_path, settings)
    yield made
    made.end()


def test_the_variable_is_refused_starts_with_a_waiver_that_names_the_claim_and_stands_on_top(
    dsv4_flash: Deployment,
) -> None:
    succeed(dsv4_flash, "up", str(dsv4_flash.profile), "-m", "served agents well")
    succeed(dsv4_flash, "name", "noon")
    noon = dsv4_flash.pids

    dsv4_flash.env("decode", **{NOON: "512"})
    dsv4_flash.settings["router"]["args"]["queue-size"] = 300
    refused = dsv4_flash.pdlaunch("up", str(dsv4_flash.profile), "-m", "+6 % short decode")
    assert refused.returncode == 2
    assert "error  known bad: decode hangs once the context has grown" in refused.stderr
    assert "said by: fork.yaml:" in refused.stderr, "the catalogue's word stands beside the profile's own"
    assert "(2026-12-01, 8x RTX PRO 6000)  this project: the incident of 2026-12-01" in refused.stderr
    assert (dsv4_flash.pids, dsv4_flash.store.numbers()) == (noon, (1,)), "nothing was started or recorded"

    claim = re.search(r"claim: '(.*)'", refused.stderr)
    assert claim is not None
    waiver = {"what": f"decode.env.{NOON}=512", "claim": claim[1], "why": "+6 %", "by": "assistant"}
    dsv4_flash.settings["allow"] = [{**waiver, "until": dt.date(2999, 1, 1)}]
    succeed(dsv4_flash, "up", str(dsv4_flash.profile), "-m", "+6 % short decode")

    first, *others = differences(dsv4_flash, 3, "diff", "noon", "--json")
    assert (first["name"], [each["name"] for each in others][:1]) == (NOON, ["queue-size"])
    declared = first["declared"]
    assert (declared["after"]["outcome"], declared["after"]["waiver"]["claim"]) == ("bad", claim[1])
    assert "incident of 2026-12-01" in declared["after"]["claims"][0]["source"]
    status = dsv4_flash.pdlaunch("status").stdout
    assert "2 changes, one outside its declared range      pdlaunch diff noon" in status
    assert f"known bad: {claim[1]}" in status

    explained = json.loads(dsv4_flash.pdlaunch("explain", NOON, "--json").stdout)
    running = {each["service"]: (each["value"], each["pending"]) for each in explained["running"]}
    assert running["decode-0"] == ("512", False), "read from the process itself"
    assert running["prefill-0"] == (None, False)
    assert [(turn["before"], turn["after"]) for turn in explained["history"]] == [(None, "512")]
    chunk = json.loads(dsv4_flash.pdlaunch("explain", "chunked-prefill-size", "--json").stdout)["running"]
    assert {each["service"]: each["value"] for each in chunk}["prefill-0"] == "4096"


def tell_the_story(deployment: Deployment, file: Path, *, riskiest_first: list[str]) -> None:
    before = file.read_text()
    succeed(deployment, "up", str(deployment.profile), "-m", "served agents well")
    succeed(deployment, "lock", "--as", "noon")
    noon = deployment.pids

    deployment.env("decode", SGLANG_TIMEOUT_KEEP_ALIVE="120")
    file.write_text(before + MARKER)
    succeed(deployment, "up", str(deployment.profile), "-m", "two small things")
    evening = deployment.pids
    assert (evening["decode-0"] != noon["decode-0"], evening["router"]) == (True, noon["router"])

    found = differences(deployment, 3, "diff", "noon", "--json")
    assert [d["name"].rpartition("/")[2] for d in found] == riskiest_first

    succeed(deployment, "rollback", "--to", "noon", "--yes", "-m", "agents hang")
    assert differences(deployment, 0, "diff", "noon", "--live", "--json") == []
    assert deployment.status.generation == 1
    assert_runs_what_was_recorded(deployment)
    assert MARKER in file.read_text()  # the checkout is the user's
    assert answer(deployment)


def succeed(deployment: Deployment, *words: str) -> None:
    done = deployment.pdlaunch(*words, timeout=900)
    assert done.returncode == 0, done.stderr


def differences(deployment: Deployment, code: int, *words: str) -> list[dict[str, Any]]:
    done = deployment.pdlaunch(*words)
    assert done.returncode == code, done.stdout + done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["differences"]
    return found


def assert_runs_what_was_recorded(deployment: Deployment) -> None:
    """The environments in /proc equal the plan's, and the engine's code is noon's snapshot."""
    place = layout(deployment.name)
    plan = deployment.store.generation(1).plan
    for service_name, found in running(place.state).items():
        service = plan.service(service_name)
        assert service is not None
        environ = Path(f"/proc/{found.main.pid}/environ").read_bytes().rstrip(b"\0").decode().split("\0")
        assert sorted(environ) == sorted(f"{v.name}={place.value(v)}" for v in service.env)
        if service.role != "router":
            assert str(place.engines / str(plan.engine.snapshot)) in "\0".join(environ)
    assert "edited_by_hand" not in "".join(
        path.read_text(errors="replace") for path in (place.engines / str(plan.engine.snapshot)).rglob("*.py")
    )


def answer(deployment: Deployment) -> str:
    """What the router streams back for one chat."""
    endpoint = Endpoint("127.0.0.1", deployment.settings["router"]["port"])
    body = {
        "model": deployment.name,
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 8,
        "stream": True,
    }
    chunks = [json.loads(data) for data in endpoint.stream("/v1/chat/completions", body)]
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
