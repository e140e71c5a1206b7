"""What runs against what was recorded, with real processes under the real supervisord."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import launcher
from launcher.observe.http import Endpoint
from launcher.observe.live import LiveService, live
from launcher.operations.adopting import adopt
from launcher.operations.drifting import drift
from launcher.operations.driving import backend_of
from launcher.operations.events import silent
from launcher.operations.rollback import rollback

from ..deployments import Deployment, until
from ..nvml import Nvml

pytestmark = pytest.mark.real
NAME = "aggregated-0"


def diff(deployment: Deployment, *words: str) -> tuple[int, dict[str, Any]]:
    done = deployment.pdlaunch("diff", *words, "--live", "--json")
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


def findings(data: Mapping[str, Any], *, alarm: bool = True) -> list[tuple[str, str]]:
    return [(f["kind"], f["subject"]) for f in data["live"]["findings"] if f["alarm"] is alarm]


def running(deployment: Deployment, name: str = NAME) -> LiveService:
    return live(deployment.store.layout.state)[name]


@pytest.fixture
def by_hand() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes as a person in a shell would; none is left."""
    started: list[subprocess.Popen[bytes]] = []

    def start(words: tuple[str, ...], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            words, env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.send_signal(signal.SIGKILL)
        process.wait()


def stop(deployment: Deployment) -> None:
    store = deployment.store
    backend_of(store.generation(1).plan, store.layout).stop([NAME], drain=False)


def test_a_pair_that_runs_as_recorded(pd: Deployment) -> None:
    pd.up(why="noon")
    code, data = diff(pd)
    assert (code, data["equal"], findings(data)) == (0, True, [])
    assert drift(pd.store) == ()
    told = findings(data, alarm=False)
    assert (
        "unchecked",
        "its command: it calls itself 'sglang::router'; environment and executable were compared",
    ) in told
    services = {s["name"]: s for s in data["live"]["services"]}
    assert [len(services[name]["processes"]) > 1 for name in ("prefill-0", "decode-0")] == [True, True]
    assert {s["generation"] for s in services.values()} == {1}
    assert pd.pdlaunch("diff", "--live").stdout.startswith("1 (today")
    done = pd.pdlaunch("diff", "1", "1")
    assert (done.returncode, done.stdout.splitlines()[-1].partition(" (")[0]) == (0, "running equals 1: yes")


def test_restarted_by_hand_with_another_value(agg: Deployment, by_hand: Callable[..., Any]) -> None:
    agg.env(SGLANG_TIMEOUT_KEEP_ALIVE="60").up()
    main = running(agg).main
    assert main.environ is not None
    stop(agg)
    by_hand(main.proc.cmdline, {**main.environ, "SGLANG_TIMEOUT_KEEP_ALIVE": "5", "SGLANG_SM120_MMA_TARGET_CTAS": "64"})
    until(lambda: NAME in live(agg.store.layout.state) and running(agg).children)
    code, data = diff(agg)
    assert code == 3
    assert findings(data) == [
        ("changed", "env SGLANG_TIMEOUT_KEEP_ALIVE"),
        ("changed", "env SGLANG_SM120_MMA_TARGET_CTAS"),
        ("unsupervised", "has no supervisor"),
    ]
    first, second, third = drift(agg.store)
    pid = running(agg).main.proc.pid
    assert first == f"{NAME} (pid {pid})  env SGLANG_TIMEOUT_KEEP_ALIVE  60 -> 5"
    assert second == f"{NAME} (pid {pid})  env SGLANG_SM120_MMA_TARGET_CTAS  unset -> 64"
    assert third == f"{NAME} (pid {pid})  has no supervisor"
    shown = agg.pdlaunch("diff", "--live").stdout
    assert "  changed outside pdlaunch\n" in shown
    assert "  started by hand: nobody starts it again when it ends\n" in shown


def test_restarted_by_hand_with_another_flag(agg: Deployment, by_hand: Callable[..., Any]) -> None:
    agg.up()
    main = running(agg).main
    stop(agg)
    words = [*main.proc.cmdline, "--page-size", "64"]
    words[words.index("--chunked-prefill-size") + 1] = "512"
    by_hand(tuple(words), main.environ)
    until(lambda: NAME in live(agg.store.layout.state))
    assert drift(agg.store)[:2] == (
        f"{NAME} (pid {running(agg).main.proc.pid})  args chunked-prefill-size  256 -> 512",
        f"{NAME} (pid {running(agg).main.proc.pid})  args page-size  unset -> 64",
    )


def test_a_script_that_was_edited(agg: Deployment) -> None:
    agg.up()
    script = agg.store.layout.generation(1) / f"{NAME}.sh"
    script.chmod(0o755)
    script.write_text(script.read_text().replace("env=(", "env=(\n  SGLANG_SM120_MMA_TARGET_CTAS=512", 1))
    told = f"{script} was edited after the start: in effect from the next one"
    assert drift(agg.store) == (f"{NAME}  {told}",)
    assert findings(diff(agg)[1]) == [("changed", told)]

    os.kill(running(agg).main.proc.pid, signal.SIGKILL)  # supervisord starts the edited script
    until(lambda: "env SGLANG_SM120_MMA_TARGET_CTAS" in "".join(drift(agg.store)))
    env, edited = drift(agg.store)
    assert env.endswith("env SGLANG_SM120_MMA_TARGET_CTAS  unset -> 512")
    assert edited.endswith("was edited before the start")


def test_a_twin_beside_the_supervised_one(
    agg: Deployment, by_hand: Callable[..., Any], free_port: Callable[[], int]
) -> None:
    agg.up()
    main = running(agg).main
    words = list(main.proc.cmdline)
    for flag in ("--port", "--nccl-port"):
        words[words.index(flag) + 1] = str(free_port())
    twin = by_hand(tuple(words), main.environ)
    until(lambda: running(agg).twins)
    until(lambda: len(running(agg).processes) > 1)
    found = [f for f in diff(agg)[1]["live"]["findings"] if f["alarm"]]
    assert [(f["kind"], f["pid"]) for f in found] == [("twin", twin.pid)]
    assert {p.proc.pid for p in running(agg).processes}.isdisjoint({twin.pid})


def test_a_foreign_process_on_our_port(agg: Deployment) -> None:
    agg.up()
    stop(agg)
    with socket.socket() as foreign:
        foreign.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        foreign.bind(("127.0.0.1", agg.settings["aggregated"]["port"]))
        foreign.listen()
        code, data = diff(agg)
    assert code == 3
    told = dict(findings(data))
    assert told.keys() == {"missing", "foreign"}
    assert f"port {agg.settings['aggregated']['port']} (http) is held by pid {os.getpid()} (" in told["foreign"]


def test_an_older_generation_that_still_runs(agg: Deployment) -> None:
    agg.up()
    agg.env(SGLANG_TIMEOUT_KEEP_ALIVE="60").up()
    whole = json.loads(agg.pdlaunch("diff", "1", "2", "--json").stdout)
    assert ([d["name"] for d in whole["differences"]], whole["not_compared"]) == (["SGLANG_TIMEOUT_KEEP_ALIVE"], [])
    agg.store.set_current(1, by="anna")
    assert drift(agg.store) == (f"{NAME} (pid {agg.pids[NAME]})  runs generation 2, recorded is 1",)
    code, data = diff(agg)
    assert (code, findings(data)) == (3, [("pending", "runs generation 2, recorded is 1")])
    assert data["live"]["services"][0]["generation"] == 2
    assert "running an older generation (pending restart)" in agg.pdlaunch("diff", "--live").stdout


def test_what_no_generation_has_recorded(agg: Deployment, by_hand: Callable[..., Any]) -> None:
    agg.up()
    main = running(agg).main
    stop(agg)
    by_hand(main.proc.cmdline, {**(main.environ or {}), "PDLAUNCH_DIGEST": "0" * 64})
    until(lambda: NAME in live(agg.store.layout.state))
    assert [kind for kind, _ in findings(diff(agg)[1])] == ["unrecorded", "changed", "unsupervised"]


def test_edits_in_the_checkout_that_do_not_run(agg: Deployment, tmp_path: Path) -> None:
    fork = tmp_path / "fork"
    package = Path(launcher.__file__).parent
    shutil.copytree(package / "simulator", fork / "launcher/simulator", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "__init__.py", fork / "launcher")
    agg.settings["engine"]["source"] = str(fork)
    agg.up(why="noon")
    assert diff(agg)[1]["live"]["checkout"] == {
        "places": [str(fork / "launcher/__init__.py"), str(fork / "launcher/simulator")],
        "edited": [],
        "touched": [],
    }

    edited, touched = fork / "launcher/simulator/tally.py", fork / "launcher/simulator/job.py"
    edited.write_text(edited.read_text() + "\n# hot edit\n")
    (fork / "launcher/simulator/new.py").write_text("x = 1\n")
    touched.touch()
    code, data = diff(agg)
    checkout = data["live"]["checkout"]
    assert [(e["name"], e["what"], e["lines"]) for e in checkout["edited"]] == [
        ("launcher/simulator/new.py", "added", {"added": 1, "removed": 0}),
        ("launcher/simulator/tally.py", "edited", {"added": 2, "removed": 0}),
    ]
    assert checkout["touched"] == ["launcher/simulator/job.py"]
    assert (code, data["equal"]) == (0, True), "the checkout is the user's: what runs is as recorded"

    agg.up(why="hot edit")
    code, data = diff(agg, "1")
    assert [d["name"] for d in data["differences"]] == ["launcher/simulator/new.py", "launcher/simulator/tally.py"]
    assert [d["brought"]["why"] for d in data["differences"]] == ["hot edit", "hot edit"]
    assert (code, findings(data)) == (3, [])

    rollback(agg.store, 1, silent, why="back at noon")
    code, data = diff(agg, "1")
    assert (code, data["differences"], findings(data)) == (0, [], [])
    assert [e["name"] for e in data["live"]["checkout"]["edited"]] == [
        "launcher/simulator/new.py",
        "launcher/simulator/tally.py",
    ], "the hot edit is still in the checkout, and does not run"


def test_an_edited_snapshot_is_code_that_nobody_recorded(agg: Deployment) -> None:
    agg.up()
    store = agg.store
    path = store.layout.engines / str(store.generation(1).seal.engine) / "launcher/simulator/tally.py"
    path.chmod(0o644)
    path.write_text("# edited in the snapshot\n")
    (found,) = findings(diff(agg)[1])
    assert found[0] == "changed"
    assert found[1].endswith("launcher/simulator/tally.py was edited")


def test_what_the_server_says_it_runs(agg: Deployment) -> None:
    """The simulator, like the engine, hands out its variables; those that a child set for itself are known."""
    agg.settings["engine"]["args"]["mem-fraction-static"] = 0.5
    agg.up()
    data = diff(agg)[1]
    assert findings(data) == []
    assert not [f for f in data["live"]["findings"] if f["subject"].startswith("its own answer")]


def test_what_was_adopted_is_what_was_recorded(
    agg: Deployment, by_hand: Callable[..., Any], tmp_path: Path, free_port: Callable[[], int]
) -> None:
    port = free_port()
    words = (
        sys.executable,
        "-m",
        "launcher.simulator",
        "--model-path",
        "m",
        "--port",
        str(port),
        "--served-model-name",
        "old",
    )
    old = by_hand(words, {"PATH": os.environ["PATH"], "SGLANG_TIMEOUT_KEEP_ALIVE": "60"})
    until(lambda: Endpoint("127.0.0.1", port).get("/ready").ok)
    adopt(pids=[old.pid], name=agg.name, profile=tmp_path / "old.yaml")
    code, data = diff(agg)
    assert (code, findings(data)) == (0, [])
    (service,) = data["live"]["services"]
    assert (service["generation"], service["processes"][0]["pid"]) == (1, old.pid)
    assert drift(agg.store) == ()


def test_who_else_has_memory_on_our_card(agg: Deployment, nvml: Nvml) -> None:
    agg.settings["aggregated"]["gpus"] = "1"
    agg.up()
    main = running(agg).main
    nvml.box("", f"process {main.proc.pid} 60000\nprocess {os.getpid()} 38000")
    code, data = diff(agg)
    ((kind, subject),) = findings(data)
    assert (code, kind) == (3, "foreign")
    assert subject.startswith(f"gpu 1: pid {os.getpid()} (")
    assert subject.endswith(") has 38000 MiB on it")
    nvml.box("", f"process {main.proc.pid} 60000")
    assert diff(agg)[0] == 0
