"""A watcher over simulated servers behind the real router: what it tells, what it freezes, what it does."""

from __future__ import annotations

import json
import os
import signal
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from launcher.operations.watch_state import Watched, read
from launcher.store import Store

from ..deployments import Deployment, Started, until

pytestmark = pytest.mark.real


class Traffic:
    """Clients that ask the router again and again until they are told to stop."""

    def __init__(self, pd: Deployment, clients: int = 3, tokens: int = 400, prompt: int = 50) -> None:
        router = next(s for s in pd.status.services if s.role in ("router", "aggregated"))
        self._url = f"http://127.0.0.1:{router.ports['http']}/generate"
        self._prompt, self._tokens = prompt, tokens
        self._stop = threading.Event()
        self.answered = 0
        self._threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self, client: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            ids = [client * 1000 + number, *range(self._prompt)]
            body = {"input_ids": ids, "sampling_params": {"max_new_tokens": self._tokens, "ignore_eos": True}}
            request = urllib.request.Request(self._url, json.dumps(body).encode(), {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    answer.read()
                self.answered += 1
            except OSError:
                self._stop.wait(0.5)

    def end(self) -> None:
        self._stop.set()


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Callable[[Deployment], Started]]:
    begun: list[Started] = []

    def start(deployment: Deployment) -> Started:
        begun.append(Started(tmp_path, "watch", "-d", deployment.name))
        until(lambda: seen(deployment.store), "a first look")
        return begun[-1]

    yield start
    for one in begun:
        one.process.kill()
        one.process.wait()


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


def test_a_stopped_scheduler_under_traffic_is_hung_and_evidence_is_on_disk(
    pd: Deployment, watcher: Callable[[Deployment], Started]
) -> None:
    pd.env("decode", PDLAUNCH_SIM_TOKEN_MS="10")
    pd.up()
    watching = watcher(pd)
    traffic = Traffic(pd)
    until(lambda: traffic.answered, "an answer")
    os.kill(scheduler(pd, "decode-0"), signal.SIGSTOP)
    found = until(lambda: hung(pd), "hung", seconds=60)
    traffic.end()
    assert [(f.service, f.weight) for f in found.findings] == [("decode-0", "hung")]
    assert "is stopped" in found.findings[0].words
    folder = until(lambda: evidence(pd), "evidence")[0]
    until(lambda: "evidence: " in watching.out, "told", seconds=60)
    have = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    wanted = {"verdict.json", "processes.txt", "decode-0.loads.json", "prefill-0.metrics.txt", "router.metrics.txt"}
    assert wanted <= have
    assert {"logs/decode-0.log", "kernel.log", "changes.txt"} <= have
    assert "left as it is, as the profile says" in watching.out
    os.kill(scheduler(pd, "decode-0"), signal.SIGCONT)
    until(lambda: "decode-0 recovered after" in watching.out, "recovered", seconds=60)
