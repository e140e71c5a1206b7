"""A watcher over simulated servers behind the real router: what it tells, what it freezes, what it does."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from launcher.engines import installed_cpu
from launcher.operations.watch_state import Watched, read
from launcher.shipped import shipped
from launcher.store import Store, writer

from ..deployments import Deployment, until

pytestmark = pytest.mark.real


class Traffic:
    """Clients that ask the router again and again until they are told to stop."""

    def __init__(
        self, pd: Deployment, clients: int = 3, tokens: int = 400, prompt: int = 50, done: threading.Event | None = None
    ) -> None:
        router = next(s for s in pd.status.services if s.role in ("router", "aggregated"))
        self._url = f"http://127.0.0.1:{router.ports['http']}/generate"
        self._prompt, self._tokens = prompt, tokens
        self._stop, self._done = threading.Event(), done
        self.answered = 0
        self._threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self, client: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            ids = [client + 10, number % 400, *(n % 400 for n in range(self._prompt))]  # a tiny vocabulary
            body = {"input_ids": ids, "sampling_params": {"max_new_tokens": self._tokens, "ignore_eos": True}}
            request = urllib.request.Request(self._url, json.dumps(body).encode(), {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    answer.read()
                self.answered += 1
                if self._done:
                    self._done.set()
            except OSError:
                self._stop.wait(0.5)

    def end(self) -> None:
        self._stop.set()


@pytest.fixture
def watched(pd: Deployment) -> Deployment:
    """A pair that its own supervisor watches; slow enough that requests are always under way."""
    pd.settings["watch"] = {"on_hang": "collect", "after": "4s"}
    return pd.env("decode", PDLAUNCH_SIM_TOKEN_MS="10")


def story(pd: Deployment) -> str:
    """What the watcher told."""
    path = pd.store.layout.log("watch")
    return path.read_text() if path.exists() else ""


def told(pd: Deployment, words: str, seconds: float = 60) -> str:
    """The line of the story that holds `words`, once it is there."""
    return until(lambda: next((x for x in story(pd).splitlines() if words in x), ""), words, seconds=seconds)


def seen(store: Store) -> Watched | None:
    """What a living watcher saw last."""
    found = read(store.layout)
    return found if found and found.fresh else None


def scheduler(pd: Deployment, name: str) -> int:
    """The scheduler process of a server."""
    return next(p.pid for p in pd.procs()[name] if "scheduler" in " ".join(p.cmdline))


def hung(pd: Deployment) -> Any:
    found = seen(pd.store)
    return found if found and found.state == "hung" else None


def evidence(pd: Deployment) -> list[Path]:
    """The frozen folders, oldest first."""
    folder = pd.store.layout.state / "evidence"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_a_stopped_scheduler_under_traffic_is_hung_and_evidence_is_on_disk(watched: Deployment) -> None:
    watched.up()
    traffic = Traffic(watched)
    until(lambda: traffic.answered, "an answer")
    told(watched, "generation 1: ")
    os.kill(scheduler(watched, "decode-0"), signal.SIGSTOP)
    found = until(lambda: hung(watched), "hung", seconds=60)
    traffic.end()
    assert [(f.service, f.weight) for f in found.findings] == [("decode-0", "hung")]
    assert "is stopped" in found.findings[0].words
    told(watched, "evidence: ")
    (folder,) = evidence(watched)
    have = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert have >= {"verdict.json", "processes.txt", "decode-0.loads.json", "prefill-0.metrics.txt", "changes.txt"}
    assert have >= {"router.metrics.txt", "logs/decode-0.log", "kernel.log"}
    assert f"stacks/decode-0-{scheduler(watched, 'decode-0')}.txt" in have
    told(watched, "left as it is, as the profile says")
    said = watched.pdlaunch("status")
    assert said.returncode == 1
    assert "HUNG since " in said.stdout
    assert str(folder) in said.stdout
    os.kill(scheduler(watched, "decode-0"), signal.SIGCONT)
    told(watched, "decode-0 recovered after")
    assert watched.state == "ok"


def test_a_killed_scheduler_is_told_by_its_name_and_the_server_comes_back(watched: Deployment) -> None:
    watched.env("engine", PDLAUNCH_SIM_LINGER_S="5")
    watched.up()
    told(watched, "generation 1: ")
    killed = scheduler(watched, "decode-0")
    os.kill(killed, signal.SIGKILL)
    assert "decode-0 died" in told(watched, f"its process {killed} (sglang::scheduler")
    told(watched, "decode-0 started: pid")
    told(watched, "decode-0 ready")
    assert evidence(watched) == []


def test_what_hangs_is_restarted_as_often_as_the_profile_allows(watched: Deployment) -> None:
    watched.settings["watch"] |= {"on_hang": "restart", "times": 1}
    watched.env("engine", PDLAUNCH_SIM_FAULT="hang:decode:after=12")
    watched.up()
    before = watched.pids
    traffic = Traffic(watched, tokens=20)
    told(watched, "decode-0: restarting decode-0")
    told(watched, "decode-0: done: restarted")
    after = watched.pids
    assert (before["decode-0"] != after["decode-0"], before["prefill-0"]) == (True, after["prefill-0"])
    events = [e for e in watched.store.journal.events() if e.what == "finished"]
    assert (events[-1].by, events[-1].details["operation"]) == ("watch", "restart")
    assert str(events[-1].why).startswith("decode-0 hung: ")
    told(watched, "left as it is: acted 1 times", seconds=90)  # the fault is still there
    traffic.end()
    assert len(evidence(watched)) == 2


def test_a_hang_goes_back_to_the_generation_that_the_profile_names(watched: Deployment) -> None:
    watched.settings["watch"]["on_hang"] = "rollback:noon"
    watched.settings["ready"]["within"] = "90s"
    watched.settings["router"]["args"] = {"cb-timeout-duration-secs": "5"}  # clients that ask meanwhile open circuits
    watched.up()
    assert watched.pdlaunch("name", "noon", "-d", watched.name).returncode == 0
    watched.env("engine", PDLAUNCH_SIM_FAULT="hang:decode:700")
    watched.up()
    traffic = Traffic(watched, prompt=300, tokens=600)
    told(watched, "decode-0: going back to noon")
    told(watched, "decode-0: done: back", seconds=120)
    traffic.end()
    assert (watched.store.current(), watched.state) == (1, "ok")
    told(watched, "generation 1: ")


def test_an_operator_at_work_is_left_alone(watched: Deployment) -> None:
    watched.settings["watch"] |= {"on_hang": "restart"}
    watched.up()
    traffic = Traffic(watched)
    until(lambda: traffic.answered, "an answer")
    with writer(watched.store.layout, "up", "anna"):
        told(watched, "hands off: anna is running `up`")
        os.kill(scheduler(watched, "decode-0"), signal.SIGSTOP)
        time.sleep(8)
        assert hung(watched) is None
        assert evidence(watched) == []
    told(watched, "decode-0: restarting decode-0")
    traffic.end()


def test_an_open_circuit_is_told_though_the_router_says_ready(watched: Deployment) -> None:
    watched.settings["router"]["args"] = {"cb-failure-threshold": "2", "cb-timeout-duration-secs": "60"}
    watched.env("engine", PDLAUNCH_SIM_FAULT="reject:500:after=4")
    watched.up()
    traffic = Traffic(watched, clients=1)
    line = told(watched, "is open: clients")
    traffic.end()
    assert "router warning: its circuit to " in line
    assert "disable-circuit-breaker" in line
    assert watched.service("router").state == "ok"


def test_a_transfer_that_never_arrives_blames_the_pair(watched: Deployment) -> None:
    watched.settings["watch"]["after"] = "2s"
    watched.env("engine", PDLAUNCH_SIM_FAULT="frozen-transfer:after=6")
    watched.up()
    traffic = Traffic(watched, clients=2)
    line = told(watched, "decode-0 hung: ")
    traffic.end()
    assert "waiting for KV" in line
    found = until(lambda: hung(watched), "hung")
    assert [f.signature for f in found.findings] == ["frozen-transfer"]


def test_a_long_prompt_that_gets_on_is_busy(watched: Deployment) -> None:
    watched.settings["watch"]["after"] = "3s"
    watched.settings["engine"]["args"] |= {"context-length": 70_000, "max-total-tokens": 200_000}
    watched.env("prefill", PDLAUNCH_SIM_PREFILL_US="200")
    watched.up()
    done = threading.Event()
    traffic = Traffic(watched, clients=1, tokens=5, prompt=64_000, done=done)
    states = set()
    while not done.wait(0.5):
        if found := seen(watched.store):
            states |= {s.standing for s in found.services.values()}
    traffic.end()
    assert "hung:" not in story(watched)
    assert "busy" in states


def test_down_ends_the_watcher_and_nothing_is_left(watched: Deployment) -> None:
    watched.up()
    told(watched, "generation 1: ")
    assert {s.name for s in watched.status.services} == {"prefill-0", "decode-0", "router"}
    assert watched.pdlaunch("down").returncode == 0
    watched.assert_nothing_left()
    assert "told to end" in story(watched)
    assert "died" not in story(watched)


def test_once_gives_one_verdict(watched: Deployment) -> None:
    watched.settings["watch"]["on_hang"] = "none"
    watched.up()
    said = watched.pdlaunch("watch", "--json")
    assert (said.returncode, json.loads(said.stdout)["state"]) == (0, "idle")
    assert seen(watched.store) is None


@pytest.fixture
def real(
    tmp_path: Path, free_port: Callable[[], int], installed_engines: Path, assigned_ports: None
) -> Iterator[Deployment]:
    """Real SGLang on CPU, watched as shipped."""
    assert installed_cpu(installed_engines) is not None, "install it first: pdlaunch engine install cpu"
    settings = yaml.safe_load((shipped("profiles") / "cpu-tiny.yaml").read_text())
    settings |= {"name": "tiny", "ready": {"within": "10m"}, "backend": "supervisord"}
    settings["prefill"] = {"port": free_port(), "nccl_port": free_port(), "bootstrap_port": free_port()}
    settings["decode"] |= {"port": free_port(), "nccl_port": free_port()}
    settings["router"]["port"] = free_port()
    made = Deployment(tmp_path, settings)
    yield made
    made.end()


@pytest.mark.timeout(900)
def test_on_real_sglang(real: Deployment) -> None:
    real.up()
    traffic = Traffic(real, tokens=200)
    until(lambda: traffic.answered, "an answer", seconds=120)
    stopped = scheduler(real, "decode-0")
    told(real, "generation 1: ")
    os.kill(stopped, signal.SIGSTOP)
    line = told(real, "decode-0 hung: ")
    assert f"pid {stopped} (sglang::scheduler) is stopped" in line
    told(real, "evidence: ")
    stack = (evidence(real)[0] / "stacks" / f"decode-0-{stopped}.txt").read_text()
    assert "event_loop" in stack or "py-spy failed" in stack
    os.kill(stopped, signal.SIGCONT)
    told(real, "decode-0 recovered after", seconds=120)
    os.kill(stopped, signal.SIGKILL)
    assert "decode-0 died" in told(real, f"its process {stopped} (sglang::scheduler) is gone")
    told(real, "decode-0 started: pid", seconds=120)
    told(real, "decode-0 ready", seconds=300)
    traffic.end()
    assert len(evidence(real)) == 1
