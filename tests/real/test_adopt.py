"""Simulated servers, started as people start servers, taken over and handed over."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from launcher.adopt import find
from launcher.adopt.process import Processes
from launcher.engines import CPU_ENGINE_ARGS, CPU_ENGINE_ENV, install_cpu
from launcher.errors import InputError
from launcher.observe.http import Endpoint
from launcher.operations.adopting import Adopting, adopt
from launcher.operations.down import down
from launcher.operations.events import silent
from launcher.operations.locking import compare_profile, lock_path
from launcher.operations.restart import restart
from launcher.operations.rollback import rollback
from launcher.operations.status import status
from launcher.operations.up import up
from launcher.plan import DIGEST, MARK
from launcher.store import Store, layout, named
from launcher.store.files import remove_tree

from ..deployments import Told, until
from ..unit.store.crash import count, killed_at

pytestmark = pytest.mark.real

KEY = "sk-not-for-any-copy"
TOKEN = "hf_not_for_any_copy"
BASE = {"PATH": os.environ["PATH"], "HOME": "/root", "LS_COLORS": "di=01;34", "LANG": "C.UTF-8"}


@dataclass(slots=True)
class Old:
    """Servers that somebody else started."""

    folder: Path
    ports: list[int] = field(default_factory=list)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, words: list[str], environ: Mapping[str, str], port: int) -> None:
        self.ports.append(port)
        log = (self.folder / "old.log").open("ab")
        self.started.append(
            subprocess.Popen(
                words,
                env=environ,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        )
        log.close()

    def pids(self) -> list[int]:
        """The main processes, once they all listen."""

        def listening() -> list[int] | None:
            found = {f.port: f.process.pid for f in find() if f.port in self.ports and f.port in f.listens}
            return [found[port] for port in self.ports] if len(found) == len(self.ports) else None

        return until(listening, "the old servers listen")

    def end(self) -> None:
        for process in self.started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for found in find():
            if found.port in self.ports:
                os.kill(found.process.pid, signal.SIGKILL)


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Old]:
    folder = tmp_path / "it's old"
    folder.mkdir()
    made = Old(folder)
    yield made
    with suppress(InputError):
        down(Store(layout("tiny")), silent, drain=False)
    made.end()


def words(port: int, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "launcher.simulator", "--model-path", "/models/tiny", "--context-length", "4096",
        "--chunked-prefill-size", "256", "--port", str(port), *more,
    ]  # fmt: skip


def script(old: Old, port: int, *, run: str = "") -> Path:
    path = old.folder / "serve it.sh"
    path.write_text(
        "#!/bin/bash\n"
        "export SGLANG_LOG_MS=1 NCCL_DEBUG=${NCCL_DEBUG:-INFO}\n"
        f"export HF_TOKEN={TOKEN}\n"
        "args=(--model-path /models/tiny\n"
        "  --context-length 4096 --chunked-prefill-size 256)\n"
        f"ODD='a  \"b\" $c' PDLAUNCH_SIM_TOKEN_MS=0 {run}{sys.executable} -m launcher.simulator "
        f'"${{args[@]}}" --port {port} \\\n  --api-key {KEY} --random-seed=7\n'
    )
    path.chmod(0o755)
    return path


def by_script(old: Old, port: int) -> None:
    old.start(["/bin/bash", str(script(old, port))], BASE, port)


def by_nohup(old: Old, port: int) -> None:
    path = script(old, port, run="nohup ")
    path.write_text(path.read_text().rstrip("\n") + " &\n")
    old.start(["/bin/bash", str(path)], BASE, port)


def by_setsid(old: Old, port: int) -> None:
    old.start(
        ["setsid", "--fork", *words(port, "--api-key", KEY)], {**BASE, "HF_TOKEN": TOKEN, "TWO": "two\nlines"}, port
    )


def by_program(old: Old, port: int) -> None:
    code = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    environ = {**BASE, "HF_TOKEN": TOKEN, "BASH_FUNC_module%%": "() { echo x; }", "IFS": "\n"}
    old.start([sys.executable, "-c", code, *words(port, f"--api-key={KEY}")], environ, port)


def by_exec(old: Old, port: int) -> None:
    old.start(
        ["/bin/bash", str(script(old, port, run="exec "))],
        {**BASE, "INVOCATION_ID": "0123", "JOURNAL_STREAM": "8:1"},
        port,
    )


STYLES = [by_script, by_nohup, by_setsid, by_program, by_exec]


def running(pid: int) -> tuple[tuple[str, ...], dict[str, str], str]:
    """Command, environment and folder of a process, to the byte."""
    processes = Processes()
    details = processes.details(processes[pid])
    environ = {n: v for n, v in (details.environ or {}).items() if n not in (MARK, DIGEST, "SPT_NOENV")}
    return processes[pid].words, environ, str(details.cwd)


def taken_over(old: Old) -> Adopting:
    return adopt(pids=old.pids(), name="tiny", called="before", profile=old.folder / "tiny.yaml", why="as it was")


@pytest.mark.parametrize("style", STYLES)
def test_what_was_started_in_any_way_is_recorded_and_started_again_to_the_byte(
    old: Old, free_port: Callable[[], int], style: Callable[[Old, int], None]
) -> None:
    port = free_port()
    style(old, port)
    (pid,) = old.pids()
    before = running(pid)

    done = taken_over(old)
    assert (done.generation, done.servers[0].name) == (1, "aggregated-0")
    assert old.pids() == [pid]
    store = Store(layout("tiny"))
    assert named(store) == {"before": 1}
    assert store.verify(1) == []
    seen = status(store)
    assert (seen.state, seen.generation, seen.services[0].pid) == ("ok", 1, pid)
    assert seen.remark is not None
    assert seen.remark.startswith("adopted; not handed over yet: aggregated-0")
    for path in (*store.layout.generation(1).rglob("*"), done.profile.path):
        content = path.read_bytes() if path.is_file() else b""
        assert (KEY.encode() in content, TOKEN.encode() in content) == (False, False), path

    restart(store, (), silent)
    seen = status(store)
    assert (seen.state, seen.remark) == ("ok", None)
    assert seen.services[0].pid != pid
    assert pid not in Processes()
    now = seen.services[0].pid
    assert now is not None
    words_now, environ_now, folder_now = running(now)
    # PWD says where it starts: not every process had it.
    assert (words_now, environ_now | {"PWD": ""}, folder_now) == (before[0], before[1] | {"PWD": ""}, before[2])


def test_the_profile_hands_over_and_the_way_back_is_what_was_adopted(old: Old, free_port: Callable[[], int]) -> None:
    by_script(old, free_port())
    (pid,) = old.pids()
    before = running(pid)
    done = taken_over(old)
    assert [p for p in done.profile.problems if p.severity == "error"] == []
    assert done.profile.differences is not None
    differing = {d.setting for d in done.profile.differences if d.runs is not None and d.renders is not None}
    assert differing <= {"env PATH", "env HOME"}
    assert {d.setting for d in done.profile.differences if d.renders is None} >= {"args api-key", "env LS_COLORS"}
    assert done.lock == old.folder / "tiny.lock.yaml"
    assert compare_profile(done.profile.path).equal

    told = Told()
    arrived = up(done.profile.path, told)
    assert (arrived.generation, arrived.move.stop, arrived.move.start) == (2, ("aggregated-0",), ("aggregated-0",))
    assert pid not in Processes()
    store = Store(layout("tiny"))
    current = status(store).services[0].pid
    assert current is not None
    _, environ, _ = running(current)
    kept = ("ODD", "SGLANG_LOG_MS", "NCCL_DEBUG", "PDLAUNCH_SIM_TOKEN_MS", "HF_TOKEN")
    assert {n: environ[n] for n in kept} == {n: before[1][n] for n in kept}

    rollback(store, 1, silent, why="back")
    back = status(store).services[0].pid
    assert back is not None
    words_now, environ_now, _ = running(back)
    assert (words_now, environ_now) == (before[0], before[1])
    down(store, silent)
    assert status(store).state == "stopped"


def test_down_ends_exactly_what_was_adopted(old: Old, free_port: Callable[[], int]) -> None:
    mine, other = free_port(), free_port()
    old.start(words(mine), BASE, mine)
    old.start(words(other), BASE, other)
    pid, left = old.pids()
    adopt(pids=[pid], name="tiny", profile=old.folder / "tiny.yaml")
    with pytest.raises(InputError, match=f"pid {pid} is adopted already, as tiny"):
        adopt(pids=[pid], name="again", profile=old.folder / "again.yaml")
    done = down(Store(layout("tiny")), silent)
    assert done.stopped == ("aggregated-0",)
    assert Endpoint("127.0.0.1", mine).get("/health").refused
    assert Endpoint("127.0.0.1", other).get("/health").ok
    os.kill(left, 0)


def test_a_script_that_was_edited_since_is_said_with_its_lines(old: Old, free_port: Callable[[], int]) -> None:
    port = free_port()
    path = script(old, port)
    os.utime(path, (1, 1))
    old.start(["/bin/bash", str(path)], BASE, port)
    pids = old.pids()
    dry = adopt(pids=pids, name="tiny", profile=old.folder / "tiny.yaml", dry_run=True)
    assert dry.servers[0].edited is None
    text = path.read_text().replace("SGLANG_LOG_MS=1", "SGLANG_LOG_MS=2").replace("4096", "8192")
    # bash reads a script while it runs it: another file takes the name
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    shutil.move(fresh, path)
    dry = adopt(pids=pids, name="tiny", profile=old.folder / "tiny.yaml", dry_run=True)
    edit = dry.servers[0].edited
    assert edit is not None
    assert [(d.line, d.setting, d.runs, d.says) for d in edit.lines] == [
        (2, "SGLANG_LOG_MS", "1", "2"),
        (5, "--context-length", "4096", "8192"),
    ]
    assert not (old.folder / "tiny.yaml").exists()
    assert not layout("tiny").state.exists()


class Systemctl:
    """A systemctl that writes down how it is called, and stops what the test says."""

    def __init__(self, folder: Path) -> None:
        self.calls = folder / "systemctl.calls"
        self.stops = folder / "systemctl.stops"
        program = folder / "bin" / "systemctl"
        program.parent.mkdir()
        program.write_text(
            f'#!/bin/bash\necho "$*" >> "{self.calls}"\ncase "$*" in\n'
            f'  *is-enabled*) echo enabled;;\n  *--now*) kill -9 $(cat "{self.stops}");;\nesac\n'
        )
        program.chmod(0o755)
        self.folder = program.parent

    def said(self) -> list[str]:
        return [line.removeprefix("--no-ask-password ") for line in self.calls.read_text().splitlines()]


def test_old_units_are_stopped_and_disabled_and_enabled_again_on_the_way_back(
    old: Old, free_port: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control group of a real unit is not to be had without systemd, so what /proc says of it is made up."""
    systemctl = Systemctl(tmp_path)
    monkeypatch.setenv("PATH", f"{systemctl.folder}:{os.environ['PATH']}")
    port = free_port()
    old.start(words(port), BASE, port)
    (pid,) = old.pids()
    systemctl.stops.write_text(str(pid))
    monkeypatch.setattr("launcher.adopt.process._cgroup", lambda _: "/system.slice/old-sim.service")
    done = taken_over(old)
    assert done.servers[0].found.launch.how == "old-sim.service"
    assert systemctl.said() == ["is-enabled old-sim.service"]
    store = Store(layout("tiny"))

    up(done.profile.path, silent)
    assert systemctl.said()[1:] == ["disable --now old-sim.service"]
    rollback(store, 1, silent)
    assert systemctl.said()[2:] == ["enable old-sim.service"]
    up(done.profile.path, silent)
    assert systemctl.said()[3:] == ["disable old-sim.service"]
    record = json.loads((store.layout.generation(1) / "adopted.json").read_text())
    assert record["services"]["aggregated-0"]["unit"] == {
        "name": "old-sim.service", "user": False, "file": None, "enabled": True,
    }  # fmt: skip


def test_a_pair_behind_the_real_router_is_one_deployment(
    old: Old, free_port: Callable[[], int], router_venv: Path
) -> None:
    """One script starts all three, as such scripts do; the router writes a title over its command."""
    prefill, bootstrap, decode, router = (free_port() for _ in range(4))
    simulator = f"{sys.executable} -m launcher.simulator --model-path /models/tiny --chunked-prefill-size 256"
    path = old.folder / "all.sh"
    path.write_text(
        f"P={prefill} D={decode}\n"
        f"{simulator} --context-length 4096 --disaggregation-mode prefill --port $P "
        f"--disaggregation-bootstrap-port {bootstrap} &\n"
        f"{simulator} --context-length 4096 --disaggregation-mode decode --port $D &\n"
        f"{router_venv}/bin/python -m sglang_router.launch_router --pd-disaggregation --host 127.0.0.1 --port {router} "
        f"--prefill http://127.0.0.1:$P {bootstrap} --decode http://127.0.0.1:$D "
        "--worker-startup-check-interval 1 --policy round_robin\n"
    )
    old.ports += [prefill, decode]
    old.start(["/bin/bash", str(path)], {**BASE, "ANY": "1"}, router)
    pids = old.pids()
    until(lambda: Endpoint("127.0.0.1", router).get("/readiness").ok, "the old router has its workers")

    done = adopt(pids=pids, name="tiny", profile=old.folder / "tiny.yaml")
    assert [s.name for s in done.servers] == ["prefill-0", "decode-0", "router"]
    assert done.servers[2].found.options.text("policy") == "round_robin"
    store = Store(layout("tiny"))
    assert (status(store).state, old.pids()) == ("ok", pids)
    told = Told()
    arrived = restart(store, (), told)
    assert set(arrived.move.start) == {"prefill-0", "decode-0", "router"}
    assert arrived.proven.edges == 1
    assert (status(store).state, status(store).remark) == ("ok", None)
    assert [pid for pid in pids if pid in Processes()] == []


def test_killed_anywhere_it_is_completed_by_the_same_again(old: Old, free_port: Callable[[], int]) -> None:
    """Eight random points, other ones on every run; all of them with PDLAUNCH_TEST_POINTS=all."""
    by_script(old, free_port())
    pids = old.pids()
    store = Store(layout("tiny"))
    profile = old.folder / "tiny.yaml"

    def begin() -> None:
        remove_tree(store.layout.state)
        profile.unlink(missing_ok=True)
        lock_path(profile).unlink(missing_ok=True)

    def again() -> Adopting:
        return adopt(pids=pids, name="tiny", called="before", profile=profile)

    total = count(again)
    wanted = os.environ.get("PDLAUNCH_TEST_POINTS", "8")
    every = range(1, total + 1)
    assert total > 60
    for point in every if wanted == "all" else sorted(random.sample(every, min(int(wanted), total))):
        begin()
        killed_at(point, again)
        assert old.pids() == pids, point
        seen = status(store)
        assert (seen.state in ("ok", "empty"), [s.pid for s in seen.services]) == (True, pids[: len(seen.services)]), (
            point
        )
        if any(event.what == "adopted" for event in store.journal.events()):
            continue
        assert again().generation == store.current(), point
        assert named(store) == {"before": store.current()}, point
        assert (status(store).state, old.pids(), profile.is_file()) == ("ok", pids, True), point
        assert [p for n in store.numbers() for p in store.verify(n)] == [], point
        assert not list(store.layout.state.rglob("*.tmp")), point


RUN_BY_PYTHON = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
REAL_STYLES: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "exec": (("/bin/bash",), "exec ", ""),
    "script": (("/bin/bash",), "", ""),
    "nohup": (("/bin/bash",), "nohup ", " &"),
    "setsid": (("setsid", "--fork", "/bin/bash"), "exec ", ""),
    "program": ((sys.executable, "-c", RUN_BY_PYTHON, "/bin/bash"), "exec ", ""),
}
"""What runs the script, and how the script runs the server."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("style", REAL_STYLES)
def test_a_real_engine_is_taken_over_and_started_again_to_the_byte(
    old: Old, free_port: Callable[[], int], installed_engines: Path, style: str
) -> None:
    outer, run, after = REAL_STYLES[style]
    engine = install_cpu(installed_engines, progress=lambda _step, _text: None, wait=True)
    port = free_port()
    flags = [
        f"--{flag} {value}".strip() for flag, (value, _) in CPU_ENGINE_ARGS.items() if "disaggregation" not in flag
    ]
    path = old.folder / "real.sh"
    path.write_text(
        "".join(f"export {name}={value}\n" for name, (value, _) in CPU_ENGINE_ENV.items())
        + f"{run}{engine.venv}/bin/python -m sglang.launch_server --model-path {engine.model} "
        f"--served-model-name tiny --chunked-prefill 128 --sleep-on-idle --port {port} {' '.join(flags)}{after}\n"
    )
    old.start([*outer, str(path)], BASE, port)
    until(lambda: Endpoint("127.0.0.1", port).get("/health").ok, "the old engine serves", seconds=240)
    (pid,) = old.pids()
    before = running(pid)

    done = taken_over(old)
    assert old.pids() == [pid]
    server = done.servers[0]
    assert (server.found.role, done.engine.use.kind) == ("aggregated", "cpu")
    assert ("--chunked-prefill", "written in full: chunked-prefill-size") in [(x.what, x.why) for x in server.left]
    assert [p for p in done.profile.problems if p.severity == "error"] == []
    store = Store(layout("tiny"))
    assert store.generation(1).seal.engine is not None
    assert (status(store).state, status(store).services[0].pid) == ("ok", pid)

    restart(store, (), silent)
    assert pid not in Processes()
    now = status(store).services[0].pid
    assert now is not None
    words_now, environ_now, folder_now = running(now)
    assert (words_now, environ_now | {"PWD": ""}, folder_now) == (before[0], before[1] | {"PWD": ""}, before[2])
