"""Starting, stopping, crashing: what a server does to those who watch its process."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import launcher.simulator
from launcher.simulator.testing import READY, Simulated, free_port

from .conftest import Start, in_background, load
from .test_endpoints import await_load

BODY = {"text": "hi", "sampling_params": {"max_new_tokens": 3}}
ENDLESS = {"text": "hi", "sampling_params": {"max_new_tokens": 500}}
NO_LINGER = {"PDLAUNCH_SIM_LINGER_S": "0"}
SLOW = {"PDLAUNCH_SIM_TOKEN_MS": "200"}


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_it_says_what_it_is_first_and_what_sglang_says_last(start: Start) -> None:
    lines = start("decode").log.splitlines()
    assert "pdlaunch simulator: no model, no GPU" in lines[0]
    texts = [line.partition("] ")[2] for line in lines]
    assert texts.index("End of disaggregation warmup") < texts.index(READY)


def test_the_scheduler_is_a_child_with_a_name_and_a_readable_environment(start: Start) -> None:
    server = start(environment={"SGLANG_HOST_IP": "127.0.0.1"})
    child = psutil.Process(server.scheduler)
    assert child.ppid() == server.process.pid
    assert child.cmdline()[0] == "sglang::scheduler (simulator)"
    assert child.name().startswith("sglang::schedul")
    assert child.environ()["SGLANG_HOST_IP"] == "127.0.0.1"


def test_the_port_of_nccl_is_opened_by_the_scheduler_on_all_interfaces(start: Start) -> None:
    port = free_port()
    server = start("decode", "--nccl-port", str(port))
    listening = {c.laddr for c in psutil.Process(server.scheduler).net_connections("tcp") if c.status == "LISTEN"}
    assert (("0.0.0.0"), port) in listening


def test_a_taken_nccl_port_is_a_crash_while_loading(start: Start) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        server = start("null", "--nccl-port", str(port), wait="")
        assert server.wait_end() == 1
    assert "Traceback" in server.log
    assert "address already in use" in server.log


def test_a_taken_http_port_ends_it(start: Start) -> None:
    server = start(port=start().port, wait="")
    assert server.wait_end() == 1
    assert "address already in use" in server.log


def test_term_on_an_idle_server_ends_both_processes_without_a_crash(start: Start) -> None:
    server = start()
    scheduler = server.scheduler
    server.process.terminate()
    assert server.wait_end() == 0
    assert gone(scheduler)
    assert "crashed" not in server.log


def test_term_lets_running_requests_finish(start: Start) -> None:
    server = start(environment={"PDLAUNCH_SIM_TOKEN_MS": "50"})
    reply = in_background(server, "/generate", {"text": "hi", "sampling_params": {"max_new_tokens": 10}})
    await_load(server, {"num_running_reqs": 1})
    server.process.terminate()
    server.wait_for("Gracefully exiting... Remaining number of requests 1.")
    assert server.ask("/health").status == 503
    assert len(reply().json()["output_ids"]) == 10
    assert server.wait_end() == 0


def test_a_second_term_changes_nothing(start: Start) -> None:
    server = start(environment=SLOW)
    in_background(server, "/generate", ENDLESS)
    await_load(server, {"num_running_reqs": 1})
    for _ in range(2):
        server.process.terminate()
        server.wait_for("Gracefully exiting... Remaining number of requests 1.")
    assert server.process.poll() is None


def test_a_client_that_leaves_takes_its_request_along(start: Start) -> None:
    server = start(environment=SLOW)
    with contextlib.suppress(TimeoutError):
        server.ask("/generate", ENDLESS, timeout=0.5)
    await_load(server, {"num_running_reqs": 0})
    server.process.terminate()
    assert server.wait_end() == 0


def test_an_abort_ends_a_request(start: Start) -> None:
    server = start(environment=SLOW)
    reply = in_background(server, "/generate", {**ENDLESS, "rid": "mine"})
    await_load(server, {"num_running_reqs": 1})
    server.ask("/abort_request", {"rid": "mine"})
    assert reply().json()["meta_info"]["finish_reason"]["type"] == "abort"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, -15)])
def test_a_dead_scheduler_is_a_crash(start: Start, number: signal.Signals, code: int) -> None:
    server = start(environment=NO_LINGER)
    os.kill(server.scheduler, number)
    assert server.wait_end() == -signal.SIGKILL
    assert f"crashed with exit code {code}. Triggering SIGQUIT" in server.log


def test_a_crashed_server_keeps_its_port_and_answers_nobody(start: Start) -> None:
    server = start(environment={"PDLAUNCH_SIM_LINGER_S": "600"})
    os.kill(server.scheduler, signal.SIGKILL)
    server.wait_for("SIGQUIT received.")
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.3) as link:
        link.sendall(b"GET /health HTTP/1.1\r\n\r\n")
        with pytest.raises(TimeoutError):
            link.recv(1)
    assert server.process.poll() is None


def test_a_crash_breaks_off_what_runs(start: Start) -> None:
    server = start(environment={**NO_LINGER, **SLOW})
    reply = in_background(server, "/generate", ENDLESS)
    await_load(server, {"num_running_reqs": 1})
    os.kill(server.scheduler, signal.SIGKILL)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        reply()


def test_term_to_the_group_reads_as_a_crash(start: Start) -> None:
    server = start(environment={**NO_LINGER, "PDLAUNCH_SIM_DRAIN_S": "5"})
    os.kill(server.scheduler, signal.SIGTERM)
    os.kill(server.process.pid, signal.SIGTERM)
    assert server.wait_end() == -signal.SIGKILL
    assert "crashed with exit code -15" in server.log


def test_a_stopped_scheduler_hangs_health_until_its_time_out_and_recovers(start: Start) -> None:
    server = start(environment={"SGLANG_HEALTH_CHECK_TIMEOUT": "0.3"})
    os.kill(server.scheduler, signal.SIGSTOP)
    assert server.ask("/health").status == 503
    assert "Health check failed. Server couldn't get a response" in server.log
    assert server.ask("/metrics").status == server.ask("/v1/loads").status == 200
    with pytest.raises(TimeoutError):
        server.ask("/server_info", timeout=0.3)
    os.kill(server.scheduler, signal.SIGCONT)
    assert server.ask("/health").status == 200
    assert server.ask("/generate", BODY).status == 200


def test_term_on_an_unhealthy_server_does_not_wait(start: Start) -> None:
    server = start(environment={"SGLANG_HEALTH_CHECK_TIMEOUT": "0.1"})
    scheduler = server.scheduler
    os.kill(scheduler, signal.SIGSTOP)
    in_background(server, "/generate", BODY)
    server.ask("/health")
    server.process.terminate()
    assert server.wait_end() == 0
    assert "Signal SIGTERM received while health check failed. Force exiting." in server.log
    assert gone(scheduler)


def test_health_can_be_made_cheap(start: Start) -> None:
    server = start(environment={"SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "false"})
    os.kill(server.scheduler, signal.SIGSTOP)
    assert server.ask("/health").status == 200


def test_a_killed_server_leaves_no_scheduler_not_even_a_stopped_one(start: Start) -> None:
    server = start()
    scheduler = server.scheduler
    os.kill(scheduler, signal.SIGSTOP)
    server.process.kill()
    server.wait_end()
    psutil.wait_procs([psutil.Process(scheduler)] if psutil.pid_exists(scheduler) else [], timeout=10)
    assert gone(scheduler)


def test_nothing_remains_of_a_request_in_the_loads(start: Start) -> None:
    server = start()
    server.ask("/generate", BODY)
    await_load(server, {"num_running_reqs": 0, "num_used_tokens": 0})
    assert load(server)["queues"]["waiting"] == 0


def run_alone(tree: Path, *words: str, variables: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-S", "-P", "-m", "launcher.simulator", *words]
    environment = {"PYTHONPATH": str(tree), **(variables or {})}
    return subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A tree with nothing but the simulator in it."""
    package = Path(launcher.simulator.__file__).parent
    shutil.copytree(package, tmp_path / "launcher/simulator", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package.parent / "__init__.py", tmp_path / "launcher/__init__.py")
    return tmp_path


def test_a_copy_runs_alone_without_any_installed_package(alone: Path) -> None:
    ended = run_alone(
        alone, "--model-path", "tiny", "--port", str(free_port()), variables={"PDLAUNCH_SIM_FAULT": "exit0:after=1ms"}
    )
    assert ended.returncode == 0, ended.stderr
    assert READY in ended.stderr


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"PDLAUNCH_SIM_FAULT": "explode"}, "simulator: error: unknown fault 'explode'; known: "),
        ({"PDLAUNCH_SIM_TOKEN_MS": "fast"}, "simulator: error: PDLAUNCH_SIM_TOKEN_MS='fast' is not a number"),
    ],
)
def test_a_bad_environment_ends_in_one_line(alone: Path, variables: dict[str, str], said: str) -> None:
    ended = run_alone(alone, "--model-path", "tiny", variables=variables)
    assert ended.returncode == 2
    assert ended.stderr.startswith(said)
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


def test_a_bad_number_of_sglang_is_warned_about(start: Start) -> None:
    server: Simulated = start(environment={"SGLANG_HEALTH_CHECK_TIMEOUT": "20s"})
    assert "Invalid value for SGLANG_HEALTH_CHECK_TIMEOUT: '20s'" in server.log
