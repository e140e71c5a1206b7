"""A real Prometheus scrapes a real deployment: targets, series, and an alert for a decode that was stopped.

The servers are simulated, the router and Prometheus are real. Of the shipped alerts only the times are shortened.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from launcher.observe.http import Endpoint
from launcher.operations.evidence import good_of
from launcher.operations.history import history
from launcher.operations.targets import targets_file
from launcher.plan import Plan
from launcher.store.served import Record, Served, read_record, write_record

from ..deployments import Deployment, Started, until

pytestmark = pytest.mark.real
NOW = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
SHIPPED = Path(__file__).parents[2] / "deploy/prometheus"


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is not installed: apt-get install -y --no-install-recommends prometheus"
    return found


def promtool(*words: str, text: str | None = None) -> str:
    """What promtool says of what is fine."""
    done = subprocess.run(
        [program("promtool"), *words], input=text, cwd=SHIPPED, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_what_is_shipped_is_valid_and_tested() -> None:
    promtool("check", "config", "prometheus.yml")
    assert re.search(r"SUCCESS: (\d+) rules found", promtool("check", "rules", "alerts.yml"))
    assert "FAILED" not in promtool("test", "rules", "alerts_test.yml")


def test_each_alert_is_tested_and_names_a_command() -> None:
    (group,) = yaml.safe_load((SHIPPED / "alerts.yml").read_text())["groups"]
    tests = yaml.safe_load((SHIPPED / "alerts_test.yml").read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case.get("exp_alerts")}
    assert fired == {rule["alert"] for rule in group["rules"]}
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert re.search(r"\bpdlaunch |\bjournalctl ", rule["annotations"]["runbook"]), rule["alert"]


class Prometheus:
    """A Prometheus on loopback."""

    def __init__(self, folder: Path, port: int, config: dict[str, Any]) -> None:
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        self._url = f"http://127.0.0.1:{port}"
        self.log = folder / "prometheus.log"
        words = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([program("prometheus"), *words], cwd=folder, stdout=log, stderr=log)

    def get(self, path: str) -> Any:
        """The data of one answer of its API; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"{self._url}/api/v1/{path}", timeout=5) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def query(self, expression: str) -> list[dict[str, str]]:
        """The labels of each series that an expression gives now."""
        data = self.get(f"query?query={urllib.parse.quote(expression)}")
        return [found["metric"] for found in data["result"]] if data else []

    def firing(self) -> dict[str, dict[str, str]]:
        """Labels and annotations of each alert that fires, by name."""
        data = self.get("alerts") or {"alerts": []}
        fire = [alert for alert in data["alerts"] if alert["state"] == "firing"]
        return {alert["labels"]["alertname"]: alert["labels"] | alert["annotations"] for alert in fire}


@pytest.fixture
def prometheus(tmp_path: Path, pd: Deployment, free_port: Callable[[], int]) -> Iterator[Prometheus]:
    """The shipped configuration, with the folder of this test, a scrape each second, and alerts in seconds."""
    folder = tmp_path / "prometheus"
    folder.mkdir()
    config = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (discovery,) = config["scrape_configs"][0]["file_sd_configs"]
    pattern = targets_file(pd.store.layout).with_name(discovery["files"][0].rpartition("/")[2])
    discovery |= {"files": [str(pattern)], "refresh_interval": "1s"}
    alerts = (SHIPPED / "alerts.yml").read_text()
    alerts = alerts.replace("for: 1m", "for: 2s").replace("for: 2m", "for: 3s").replace("[2m]", "[10s]")
    (folder / "alerts.yml").write_text(alerts)
    running = Prometheus(folder, free_port(), config)
    yield running
    running.process.terminate()
    running.process.wait(20)


@pytest.fixture
def watching(pd: Deployment, tmp_path: Path, free_port: Callable[[], int]) -> Iterator[Started]:
    """`pdlaunch watch` of a pair that serves, started by hand, so that it can be ended and killed."""
    pd.settings["watch"] = {"on_hang": "none", "metrics_port": free_port()}
    pd.up()
    watch = Started(tmp_path, "watch", "-d", pd.name)
    try:
        until(lambda: "metrics at" in watch.out, watch.out + watch.err)
        yield watch
    finally:
        watch.process.kill()
        watch.process.wait()


def ask(pd: Deployment, words: int, timeout: float = 30.0) -> Any:
    door = Endpoint("127.0.0.1", pd.settings["router"]["port"])
    body = {"text": "x " * words, "sampling_params": {"max_new_tokens": 8}}
    return door.post("/generate", body, timeout=timeout).json()


def plan(pd: Deployment) -> Plan:
    return pd.store.generation(1).plan


def test_a_deployment_is_scraped_and_a_stopped_decode_wakes_somebody(
    pd: Deployment, watching: Started, prometheus: Prometheus
) -> None:
    wanted = {
        ("pdlaunch-engine", "prefill-0"),
        ("pdlaunch-engine", "decode-0"),
        ("pdlaunch-router", "router"),
        ("pdlaunch-watch", None),
    }
    until(lambda: len(prometheus.query("up == 1")) == 4, f"four targets: {watching.out}", seconds=90)
    up = prometheus.query("up == 1")
    assert {(labels["job"], labels.get("service")) for labels in up} == wanted
    assert {labels["deployment"] for labels in up} == {pd.name}
    page = Endpoint("127.0.0.1", plan(pd).watch.metrics_port or 0).get("/metrics").text
    assert promtool("check", "metrics", text=page) == ""

    answer = ask(pd, 2000)
    assert answer["meta_info"]["prompt_tokens"] > 2000
    for series in (
        "pdlaunch_generation_info{generation='1'}",
        "pdlaunch_service_up{service='router'} == 1",
        "pdlaunch_service_queue_requests{queue='transfer'}",
        "pdlaunch_proven_tokens{by='traffic'} > 2000",
        "pdlaunch_generation_requests > 0",
        "sglang:realtime_tokens_total{service='decode-0', mode='decode'} > 0",
        "smg_worker_cb_state{deployment='pd'} == 0",
    ):
        until(partial(prometheus.query, series), f"{series}: {watching.out}", seconds=90)
    assert "PdlaunchHung" not in prometheus.firing()

    scheduler = next(p for p in pd.procs()["decode-0"] if "scheduler" in " ".join(p.cmdline))
    os.kill(scheduler.pid, signal.SIGSTOP)
    asking = threading.Thread(target=ask, args=(pd, 300, 120.0), daemon=True)
    try:
        asking.start()
        hung = until(lambda: prometheus.firing().get("PdlaunchHung"), watching.out, seconds=90)
        until(lambda: "PdlaunchNoTokens" in prometheus.firing(), "engines and router tell it too", seconds=60)
    finally:
        os.kill(scheduler.pid, signal.SIGCONT)
    assert (hung["service"], hung["severity"], hung["deployment"]) == ("decode-0", "page", "pd")
    assert hung["runbook"] == "pdlaunch status -d pd; then pdlaunch rollback --to good -d pd"
    until(lambda: prometheus.query("pdlaunch_drift == 0"), "it is looked for each minute", seconds=150)
    asking.join(60)
    until(lambda: "PdlaunchHung" not in prometheus.firing(), "it got on", seconds=60)

    watching.send(signal.SIGTERM)
    assert watching.wait() == 0
    (row,) = history(pd.store)
    assert (row.requests, row.hangs, row.good) == (2, 1, False)
    assert row.longest is not None
    assert 2000 < row.longest < 2100
    until(lambda: "PdlaunchWatchDown" in prometheus.firing(), "nobody watches", seconds=60)
    pd.pdlaunch("down", "--now")
    until(lambda: not prometheus.query("up == 0"), "what was stopped on purpose is not scraped", seconds=60)


def test_two_watchers_do_not_count_twice_and_a_killed_one_loses_a_minute_at_most(
    pd: Deployment, watching: Started, tmp_path: Path
) -> None:
    second = Started(tmp_path, "watch", "-d", pd.name)
    try:
        until(lambda: "traffic is recorded by another watcher" in second.out, second.out + second.err)
        until(lambda: "Address already in use" in second.out, second.out)
        ask(pd, 500)
    finally:
        second.process.terminate()
        assert second.wait() == 0
    watching.send(signal.SIGTERM)
    assert watching.wait() == 0
    killed = Started(tmp_path, "watch", "-d", pd.name)
    until(lambda: "metrics at" in killed.out, killed.out)
    killed.process.kill()
    killed.process.wait()
    ask(pd, 600)
    third = Started(tmp_path, "watch", "-d", pd.name)
    until(lambda: "metrics at" in third.out, third.out)
    third.send(signal.SIGTERM)
    assert third.wait() == 0
    row = read_record(pd.store.layout).generations[1]
    assert (row.requests, row.deaths) == (2, 0), "one was asked while nobody watched"
    assert 500 < row.longest <= 609


def test_the_watcher_beside_the_services_is_scraped_and_writes_when_it_ends_with_them(
    pd: Deployment, free_port: Callable[[], int]
) -> None:
    pd.settings["watch"] = {"on_hang": "collect", "metrics_port": free_port()}
    pd.up()
    page = Endpoint("127.0.0.1", pd.settings["watch"]["metrics_port"])
    until(lambda: 'pdlaunch_service_up{deployment="pd",service="router"' in page.get("/metrics").text, "it is served")
    assert targets_file(pd.store.layout).exists()
    ask(pd, 500)
    looks = set[str]()

    def looked() -> bool:
        looks.update(
            re.findall(r"^pdlaunch_watch_last_look_timestamp_seconds\S* (.*)", page.get("/metrics").text, re.M)
        )
        return len(looks) > 3

    until(looked, "the watcher looked on for a while")
    pd.pdlaunch("down")
    assert page.get("/metrics").refused
    assert not targets_file(pd.store.layout).exists()
    assert read_record(pd.store.layout).generations[1].seconds > 0


def test_a_watcher_goes_back_to_what_is_good_and_that_is_not_what_just_hung(pd: Deployment) -> None:
    pd.up(why="served well")
    hour = Served(since=NOW, until=NOW, seconds=7200.0, traffic=7200.0, requests=900, longest=60_000)
    write_record(pd.store.layout, Record(generations={1: hour, 2: hour}))
    pd.settings["watch"] = {"on_hang": "rollback:good", "after": "4s"}
    pd.env("decode", PDLAUNCH_SIM_TOKEN_MS="1").up(why="served well as well, until it hung")
    found = good_of(pd.store)
    assert found is not None
    assert found.generation == 2
    scheduler = next(p for p in pd.procs()["decode-0"] if "scheduler" in " ".join(p.cmdline))
    os.kill(scheduler.pid, signal.SIGSTOP)
    asking = threading.Thread(target=ask, args=(pd, 300, 20.0), daemon=True)
    asking.start()
    until(lambda: pd.store.current() == 1 and pd.store.pending() is None, pd.log("watch"), seconds=120)
    asking.join(30)
    until(lambda: pd.state == "ok", pd.log("watch"), seconds=60)
    (first, second) = reversed(history(pd.store))
    assert (first.good, second.good, second.hangs) == (True, False, 1)
