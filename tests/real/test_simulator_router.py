"""Simulated prefill and decode behind the real sglang-router 0.3.2."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from launcher.simulator import testing
from launcher.simulator.testing import Reply, Simulated, ask, events, free_port

pytestmark = pytest.mark.real

ROUTER = "sglang-router==0.3.2"
TEXT = {"text": "The capital of France is", "sampling_params": {"max_new_tokens": 5}}
CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}


@pytest.fixture(scope="session")
def router_python() -> Path:
    """A Python with the router: the one of PDLAUNCH_ROUTER_PYTHON, else of an environment made once and kept."""
    if named := os.environ.get("PDLAUNCH_ROUTER_PYTHON"):
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pdlaunch-tests"
    cache.mkdir(parents=True, exist_ok=True)
    home, done = cache / ROUTER, cache / f"{ROUTER}.done"
    with (cache / f"{ROUTER}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            subprocess.run([str(home / "bin/python"), "-m", "pip", "install", "-q", ROUTER], check=True)
            done.touch()
    return home / "bin/python"


class Deployment:
    """A router with one prefill and one decode."""

    def __init__(self, prefill: Simulated, decode: Simulated, port: int) -> None:
        self.prefill, self.decode, self._port = prefill, decode, port

    def ask(self, path: str, body: object = None, *, timeout: float = 20) -> Reply:
        return ask(self._port, path, body, timeout=timeout)

    def wait_readiness(self, status: int) -> None:
        """Wait for what the router says of its workers."""
        deadline = time.monotonic() + 30
        while self._readiness() != status:
            assert time.monotonic() < deadline, f"no readiness {status}"
            time.sleep(0.05)

    def _readiness(self) -> int:
        try:
            return self.ask("/readiness").status
        except OSError:
            return 0


Deploy = Callable[..., Deployment]


@pytest.fixture
def deploy(router_python: Path, tmp_path: Path) -> Iterator[Deploy]:
    with ExitStack() as stack:

        def begin(*router_args: str, fault: str = "", **environment: str) -> Deployment:
            given = {"PDLAUNCH_SIM_FAULT": fault, **environment}
            name = ("--served-model-name", "tiny")
            prefill = stack.enter_context(testing.start(tmp_path, "prefill", name, given))
            bootstrap = prefill.bootstrap_port
            decode = stack.enter_context(testing.start(tmp_path, "decode", name, given, bootstrap_port=bootstrap))
            for server in (prefill, decode):
                server.wait_for()
            port = free_port()
            command = [
                *(str(router_python), "-m", "sglang_router.launch_router", "--host", "127.0.0.1", "--port", str(port)),
                *("--pd-disaggregation", "--prefill", f"http://127.0.0.1:{prefill.port}", str(bootstrap)),
                *("--decode", f"http://127.0.0.1:{decode.port}", "--policy", "round_robin"),
                *("--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port())),
                *("--health-check-interval-secs", "1", "--health-check-timeout-secs", "1", *router_args),
            ]
            log = stack.enter_context((tmp_path / "router.log").open("wb"))
            router = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)
            stack.callback(router.wait)
            stack.callback(router.kill)
            deployment = Deployment(prefill, decode, port)
            deployment.wait_readiness(200)
            return deployment

        yield begin


def test_generate_goes_to_both_halves_and_comes_from_decode(deploy: Deploy, tmp_path: Path) -> None:
    deployment = deploy()
    reply = deployment.ask("/generate", TEXT)
    assert reply.status == 200
    with testing.start(tmp_path) as alone:
        reference = alone.wait_for().ask("/generate", TEXT).json()
    assert reply.json()["output_ids"] == reference["output_ids"]
    assert '"POST /generate HTTP/1.1" 200' in deployment.prefill.log


def test_generate_streams(deploy: Deploy) -> None:
    *parts, done = events(deploy().ask("/generate", {**TEXT, "stream": True}))
    assert [len(part["output_ids"]) for part in parts] == [1, 2, 3, 4, 5]
    assert done == "[DONE]"


def test_chat_whole_and_streamed_say_the_same(deploy: Deploy) -> None:
    deployment = deploy()
    reply = deployment.ask("/v1/chat/completions", CHAT)
    whole = reply.json()["choices"][0]["message"]["content"]
    assert whole.startswith("[simulator]")
    streamed = deployment.ask("/v1/chat/completions", {**CHAT, "stream": True})
    *chunks, done = events(streamed)
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == whole
    assert (chunks[-1]["choices"][0]["finish_reason"], done) == ("length", "[DONE]")


def test_twenty_at_once(deploy: Deploy) -> None:
    deployment = deploy()
    bodies = [{**TEXT, "text": f"question {number}"} for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        replies = list(pool.map(lambda body: deployment.ask("/generate", body), bodies))
    assert [reply.status for reply in replies] == [200] * 20
    assert len({tuple(reply.json()["output_ids"]) for reply in replies}) == 20


def test_a_killed_decode_is_an_error_and_then_not_ready_and_a_new_one_is_served(deploy: Deploy, tmp_path: Path) -> None:
    deployment = deploy("--disable-circuit-breaker", SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT="1")
    before = deployment.ask("/generate", TEXT).json()["output_ids"]
    deployment.decode.process.kill()
    deployment.decode.wait_end()
    assert deployment.ask("/generate", TEXT).status >= 500
    deployment.wait_readiness(503)
    assert deployment.ask("/generate", TEXT).status == 503
    old, name = deployment.decode, ("--served-model-name", "tiny")
    with testing.start(tmp_path, "decode", name, port=old.port, bootstrap_port=old.bootstrap_port) as new:
        new.wait_for()
        deployment.wait_readiness(200)
        assert deployment.ask("/generate", TEXT).json()["output_ids"] == before


def test_a_rejecting_decode_shuts_the_healthy_prefill_out(deploy: Deploy) -> None:
    deployment = deploy(fault="reject:decode:500", SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT="0.2")
    replies = [deployment.ask("/v1/chat/completions", CHAT) for _ in range(4)]
    assert [reply.status for reply in replies[:1]] == [500]
    assert replies[-1].status == 503
    assert "circuits open" in replies[-1].body.decode()
    assert deployment.ask("/readiness").status == 200


def test_a_long_context_hangs_its_client_while_short_ones_pass(deploy: Deploy) -> None:
    deployment = deploy("--request-timeout-secs", "3", "--disable-retries", SGLANG_SM120_MMA_TARGET_CTAS="512")
    long: dict[str, Any] = {"input_ids": [number % 1000 for number in range(48_000)]}
    assert deployment.ask("/generate", {**long, "sampling_params": {"max_new_tokens": 2}}).status >= 500
    assert deployment.ask("/generate", TEXT).status == 200
    assert deployment.ask("/readiness").status == 200
    assert deployment.decode.ask("/v1/loads").json()["loads"][0]["num_running_reqs"] == 1
