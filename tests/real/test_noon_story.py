"""The story that pdlaunch exists for: one variable and one hot edit since noon, found and taken back.

On the simulator, and on real SGLang with NIXL and the router (the CPU engine).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

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


def differences(deployment: Deployment, code: int, *words: str) -> list[dict[str, str]]:
    done = deployment.pdlaunch(*words)
    assert done.returncode == code, done.stdout + done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)["differences"]
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
