"""The supervisord backend with the real supervisord and stand-in servers."""

from __future__ import annotations

import itertools
import os
import pwd
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from launcher.backends.processes import look
from launcher.backends.protocol import Unit
from launcher.backends.supervisord import Supervisord
from launcher.backends.supervisord.client import Client
from launcher.errors import InputError, PdlaunchError
from launcher.plan.model import MARK, Argument, EngineUse, Origin, Plan, Service, Variable
from launcher.profile.model import Ready, Restart, Stop
from launcher.render import Layout
from launcher.render import render as bundle_of
from launcher.render import supervisord as render

pytestmark = pytest.mark.real

STANDIN = Path(__file__).with_name("standin_server.py")
OWN = Origin(kind="pdlaunch")


@dataclass
class Deployment:
    """A deployment of stand-ins in a folder of its own."""

    layout: Layout
    stop: Stop = field(default_factory=lambda: Stop(drain=20, kill=30))
    restart: Restart = field(default_factory=lambda: Restart(tries=2, within=60))
    user: str | None = None
    command: tuple[str, ...] = (sys.executable, str(STANDIN))

    @property
    def backend(self) -> Supervisord:
        return Supervisord(self.layout, self.stop)

    def install(self, generation: int = 1, **services: str) -> None:
        """Write a generation, as the store does, and install it; `services` are names and options of the stand-in."""
        self.install_all({name.replace("_", "-"): options for name, options in services.items()}, generation)

    def install_all(self, services: dict[str, str], generation: int = 1) -> None:
        folder = self.layout.generation(generation)
        bundle = bundle_of(self.plan(services), self.layout)
        for name, file in bundle.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text)
            path.chmod(file.mode)
        self.backend.install(folder)

    def plan(self, services: dict[str, str]) -> Plan:
        return Plan(
            deployment=self.layout.deployment,
            model_path="/stand-in",
            model_name="stand-in",
            engine=EngineUse(kind="simulator", version="0"),
            transfer="nixl",
            services=tuple(self.service(name, options) for name, options in services.items()),
            chunk=1,
            context=None,
            ready=Ready(),
            stop=self.stop,
            restart=self.restart,
            backend="supervisord",
        )

    def service(self, name: str, options: str) -> Service:
        words = (*self.command, *options.split())
        return Service(
            name=name,
            role="decode",
            argv=(Argument(words=words, origin=OWN),),
            env=(Variable(name=MARK, value=name, origin=OWN, root="state"),),
            host="127.0.0.1",
            ports={"http": 1},
            user=self.user,
        )

    def unit(self, name: str) -> Unit:
        return self.backend.units()[name]

    def until(self, name: str, condition: Callable[[Unit], bool]) -> Unit:
        return until(lambda: unit if condition(unit := self.unit(name)) else None)

    def log(self, name: str) -> str:
        return self.layout.log(name).read_text()

    def start(self, *names: str) -> None:
        """Start services and wait until the stand-ins are ready."""
        before = {name: self.starts(name) for name in names}
        self.backend.start(names)
        until(lambda: all(self.starts(name) > before[name] for name in names) or None)

    def starts(self, name: str) -> int:
        """How often the stand-in has become ready."""
        return self.log(name).count("stand-in is ready") if self.layout.log(name).exists() else 0

    def running(self) -> dict[str, int]:
        """Living processes of each service."""
        return {name: len(procs) for name, procs in look(self.layout.state).services.items() if name != "supervisord"}


T = TypeVar("T")


def until(attempt: Callable[[], T | None], seconds: float = 30) -> T:
    """What `attempt` returns once it returns something."""
    end = time.monotonic() + seconds
    while (found := attempt()) is None:
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A short folder for sockets, since pytest's own are long; whatever still carries its mark is killed after."""
    run = Path(tempfile.mkdtemp(prefix="pd-"))
    yield run
    for pidfile in run.rglob("supervisord.pid"):  # a daemon started by hand has no mark
        os.kill(int(pidfile.read_text()), signal.SIGKILL)
    for state in (p.parent for top in (tmp_path, run) for p in top.rglob("supervisord.conf")):
        for procs in look(state).services.values():
            for proc in procs:
                proc.signal(signal.SIGKILL)
    shutil.rmtree(run)


@pytest.fixture
def deployment(tmp_path: Path, place: Path) -> Deployment:
    return Deployment(Layout(deployment="d", state=tmp_path / "d", cache=tmp_path / "cache", run=place / "d"))


def test_the_whole_way(deployment: Deployment, free_port: int) -> None:
    backend = deployment.backend
    deployment.install(prefill_0="", decode_0=f"--port {free_port}")
    assert not backend.alive()
    assert [(u.name, u.state) for u in backend.units().values()] == [("prefill-0", "stopped"), ("decode-0", "stopped")]

    deployment.start("prefill-0", "decode-0")
    assert backend.alive()
    unit = deployment.unit("decode-0")
    assert (unit.state, unit.wanted, unit.supervised, unit.restarts) == ("running", True, True, 0)
    assert listens(free_port)
    assert unit.pid is not None
    assert Path(f"/proc/{unit.pid}/exe").samefile(sys.executable)
    assert "stand-in server" in deployment.log("decode-0")
    backend.start(["prefill-0", "decode-0"])
    assert deployment.unit("decode-0").pid == unit.pid, "a start of what runs is no restart"

    backend.stop(["prefill-0", "decode-0"])
    assert deployment.running() == {}
    assert not listens(free_port)
    assert {unit.state for unit in backend.units().values()} == {"stopped"}
    backend.close()
    assert not backend.alive()
    assert list(deployment.layout.run.iterdir()) == []
    assert look(deployment.layout.state).services == {}
    backend.close()


def test_the_daemon_knows_nothing_of_the_callers_environment(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, before[1]))
    deployment.install(decode_0="")
    deployment.start("decode-0")
    resource.setrlimit(resource.RLIMIT_MEMLOCK, before)
    pid = deployment.unit("decode-0").pid
    environment = dict(
        entry.split("=", 1)
        for entry in Path(f"/proc/{daemon_pid(deployment)}/environ").read_text().split("\0")
        if entry
    )
    assert environment.keys() == {"PATH", "LANG", MARK}
    assert Path(f"/proc/{pid}/environ").read_text() == f"{MARK}={deployment.layout.state}/decode-0\0"
    soft, hard = re.findall(r"Max locked memory +(\S+) +(\S+)", Path(f"/proc/{pid}/limits").read_text())[0]
    assert soft == hard, "RDMA may lock what it can"
    assert stat.S_IMODE(render.socket(deployment.layout).stat().st_mode) == 0o600


@pytest.mark.parametrize(("status", "words"), [(1, "exit status 1"), (0, "exit status 0")])
def test_an_end_by_itself_is_a_failure_and_restarts_are_bounded(
    deployment: Deployment, status: int, words: str
) -> None:
    deployment.install(decode_0=f"--exit-after 0.3 --status {status}", prefill_0="")
    deployment.start("decode-0", "prefill-0")
    unit = deployment.until("decode-0", lambda u: u.state == "exited" and u.restarts == 2)
    assert (unit.exit_status, unit.detail, unit.wanted) == (status, words, True)
    log = until(lambda: text if "left as it is" in (text := deployment.log("restarts")) else None)
    assert log.count("started again\n") == 2
    assert deployment.log("decode-0").count("stand-in server") == 3
    assert deployment.unit("prefill-0").restarts == 0

    deployment.start("decode-0")
    deployment.until("decode-0", lambda u: u.restarts == 1)  # asked anew: a clean record


def test_a_killed_service_is_started_again_and_the_signal_is_named(deployment: Deployment) -> None:
    deployment.restart = Restart(tries=0, within=60)
    deployment.install(decode_0="")
    deployment.start("decode-0")
    os.kill(deployment.unit("decode-0").pid or 0, signal.SIGKILL)
    unit = deployment.until("decode-0", lambda u: u.state == "exited")
    assert (unit.exit_status, unit.detail, unit.pid) == (-1, "terminated by SIGKILL", None)


def test_what_a_crashed_service_leaves_is_killed_before_it_is_started_again(deployment: Deployment) -> None:
    deployment.install(decode_0="--child session")
    deployment.start("decode-0")
    until(lambda: deployment.running() == {"decode-0": 2} or None)
    first = look(deployment.layout.state).services["decode-0"]
    os.kill(first[0].pid, signal.SIGKILL)
    deployment.until("decode-0", lambda u: u.restarts == 1 and u.state == "running")
    assert not first[1].alive()
    assert deployment.backend.orphans() == ()


def test_restarts_are_counted_on_when_the_listener_dies(deployment: Deployment) -> None:
    deployment.install(decode_0="")
    deployment.start("decode-0")
    for expected in (1, 2):
        os.kill(deployment.unit("decode-0").pid or 0, signal.SIGKILL)
        deployment.until("decode-0", lambda u: u.state == "running" and u.restarts == expected)  # noqa: B023
        listener = rpc(deployment)("getProcessInfo", "restarts")["pid"]
        os.kill(listener, signal.SIGKILL)
        until(lambda: rpc(deployment)("getProcessInfo", "restarts")["pid"] not in (0, listener) or None)  # noqa: B023
    os.kill(deployment.unit("decode-0").pid or 0, signal.SIGKILL)
    until(lambda: "left as it is" in deployment.log("restarts") or None)
    assert deployment.unit("decode-0").state == "exited"


def test_a_crash_while_the_listener_is_away_is_seen(deployment: Deployment) -> None:
    deployment.install(decode_0="")
    deployment.start("decode-0")
    rpc(deployment)("stopProcess", "restarts")
    os.kill(deployment.unit("decode-0").pid or 0, signal.SIGKILL)
    deployment.until("decode-0", lambda u: u.state == "exited")
    rpc(deployment)("startProcess", "restarts")
    deployment.until("decode-0", lambda u: u.state == "running" and u.restarts == 1)


def test_a_stopped_service_stays_stopped(deployment: Deployment) -> None:
    deployment.install(decode_0="--exit-after 0.3", prefill_0="")
    deployment.start("decode-0", "prefill-0")
    deployment.until("decode-0", lambda u: u.state == "exited")  # the listener is about to start it again
    deployment.backend.stop(["decode-0"])
    os.kill(deployment.unit("prefill-0").pid or 0, signal.SIGKILL)
    deployment.until("prefill-0", lambda u: u.restarts == 1 and u.state == "running")  # it has come round since
    assert deployment.running() == {"prefill-0": 1}
    unit = deployment.unit("decode-0")
    assert (unit.state, unit.wanted, unit.restarts) == ("stopped", False, 0)


def test_replacing_one_leaves_the_others_alone(deployment: Deployment) -> None:
    backend = deployment.backend
    deployment.install(1, prefill_0="", decode_0="", router="")
    deployment.start("prefill-0", "decode-0", "router")
    before = {name: unit.pid for name, unit in backend.units().items()}
    deployment.install(2, prefill_0="", decode_0="--status 7", router="")
    assert {name: unit.pid for name, unit in backend.units().items()} == before, "install starts and stops nothing"
    backend.stop(["decode-0"])
    deployment.start("decode-0")
    after = {name: unit.pid for name, unit in backend.units().items()}
    assert {name for name in before if before[name] != after[name]} == {"decode-0"}
    assert "'--status', '7'" in deployment.log("decode-0")


def test_a_service_that_left_the_plan_is_known_until_it_is_stopped(deployment: Deployment) -> None:
    deployment.install(1, decode_0="", decode_1="")
    deployment.start("decode-0", "decode-1")
    deployment.install(2, decode_0="")
    assert deployment.unit("decode-1").state == "running"
    deployment.backend.stop(["decode-1"])
    assert list(deployment.backend.units()) == ["decode-0"]
    assert deployment.running() == {"decode-0": 1}


def test_services_drain_side_by_side(deployment: Deployment) -> None:
    names = [f"decode-{i}" for i in range(4)]
    deployment.install_all(dict.fromkeys(names, "--slow-term 2"))
    deployment.start(*names)
    deployment.backend.stop(names)
    assert deployment.running() == {}
    spans = [re.findall(r"stand-in drains (?:from|to) (\S+)", deployment.log(name)) for name in names]
    assert max(float(begin) for begin, _ in spans) < min(float(end) for _, end in spans), "none waited for another"


@pytest.mark.parametrize("child", ["plain", "session", "stopped", "ignore-term", "orphan"])
def test_nothing_of_the_tree_is_left(deployment: Deployment, child: str) -> None:
    deployment.install(decode_0=f"--child {child}")
    deployment.start("decode-0")
    assert deployment.running() == {"decode-0": 2}
    assert deployment.backend.orphans() == (), "a child that moved to another parent is no orphan"
    deployment.backend.stop(["decode-0"])
    assert deployment.running() == {}
    assert "stand-in drains" in deployment.log("decode-0")


def test_who_ignores_term_is_killed_at_the_limit(deployment: Deployment, free_port: int) -> None:
    deployment.stop = Stop(drain=0.2, kill=1)
    deployment.install(decode_0=f"--ignore-term --port {free_port} --child hold-port")
    deployment.start("decode-0")
    until(lambda: (deployment.running() == {"decode-0": 2} and listens(free_port)) or None)
    deployment.backend.stop(["decode-0"])
    assert deployment.running() == {}
    assert not listens(free_port)


def test_who_is_still_busy_is_killed_when_draining_is_over(deployment: Deployment) -> None:
    deployment.stop = Stop(drain=0.3, kill=3600)
    asked: list[str] = []
    deployment.install(prefill_0="--ignore-term", decode_0="--slow-term 1")

    def busy(name: str) -> bool:
        asked.append(name)
        return name == "prefill-0"

    backend = Supervisord(deployment.layout, deployment.stop, busy)
    deployment.start("prefill-0", "decode-0")
    backend.stop(["prefill-0", "decode-0"])
    assert sorted(asked) == ["decode-0", "prefill-0"]
    log = deployment.log("supervisord")
    assert "stopped: prefill-0 (terminated by SIGKILL)" in log
    assert "stopped: decode-0 (exit status 0)" in log


def test_a_hung_service_is_not_drained(deployment: Deployment) -> None:
    deployment.install(decode_0="--child session")
    deployment.start("decode-0")
    until(lambda: deployment.running() == {"decode-0": 2} or None)
    os.kill(deployment.unit("decode-0").pid or 0, signal.SIGSTOP)
    deployment.backend.stop(["decode-0"], drain=False)
    assert deployment.running() == {}
    assert deployment.unit("decode-0").state == "stopped"
    assert "stand-in drains" not in deployment.log("decode-0")


def test_stopping_what_is_dead_or_unknown_is_no_error(deployment: Deployment) -> None:
    deployment.restart = Restart(tries=0, within=60)
    deployment.install(decode_0="--exit-after 0 --child session", prefill_0="")
    backend = deployment.backend
    backend.stop(["decode-0", "prefill-0", "router"])
    deployment.start("decode-0")
    deployment.until("decode-0", lambda u: u.state == "exited")
    backend.stop(["decode-0", "prefill-0", "router"])
    backend.stop(["decode-0"])
    assert deployment.running() == {}
    assert {unit.state for unit in backend.units().values()} == {"stopped"}


def test_killed_supervisord_leaves_orphans_that_are_known_and_ended(deployment: Deployment) -> None:
    backend = deployment.backend
    deployment.install(prefill_0="--child session", decode_0="")
    deployment.start("prefill-0", "decode-0")
    until(lambda: deployment.running() == {"prefill-0": 2, "decode-0": 1} or None)
    before = backend.units()
    kill_daemon(deployment)

    assert not backend.alive()
    units = backend.units()
    assert {n: (u.state, u.pid, u.supervised, u.wanted) for n, u in units.items()} == {
        n: ("running", u.pid, False, True) for n, u in before.items()
    }
    assert [proc.service for proc in backend.orphans()] == ["prefill-0", "decode-0", "prefill-0"]
    with pytest.raises(PdlaunchError, match="decode-0 runs outside supervisord: pid"):
        deployment.backend.start(["decode-0"])
    assert backend.units() == units

    backend.end_orphans()
    assert backend.orphans() == ()
    assert {unit.state for unit in backend.units().values()} == {"exited"}, "wanted, and it does not run"
    deployment.start("prefill-0", "decode-0")
    assert {unit.state for unit in backend.units().values()} == {"running"}


def test_stop_ends_orphans_too(deployment: Deployment) -> None:
    deployment.install(prefill_0="--child session", decode_0="--ignore-term")
    deployment.stop = Stop(drain=0.2, kill=0.5)
    deployment.start("prefill-0", "decode-0")
    until(lambda: deployment.running() == {"prefill-0": 2, "decode-0": 1} or None)
    kill_daemon(deployment)
    deployment.backend.stop(["decode-0"])
    assert deployment.running() == {"prefill-0": 2}
    deployment.start("decode-0")  # and the daemon does not start a second prefill beside the one that runs
    until(lambda: "prefill-0 already runs" in deployment.log("restarts") or None)
    assert {n: (u.state, u.supervised) for n, u in deployment.backend.units().items()} == {
        "prefill-0": ("running", False),
        "decode-0": ("running", True),
    }
    deployment.backend.stop(["prefill-0", "decode-0"])
    assert deployment.running() == {}


def test_remains_of_an_orphan_are_no_running_service(deployment: Deployment) -> None:
    deployment.install(decode_0="--child session")
    deployment.start("decode-0")
    until(lambda: deployment.running() == {"decode-0": 2} or None)
    pid = deployment.unit("decode-0").pid
    kill_daemon(deployment)
    os.kill(pid or 0, signal.SIGKILL)
    unit = deployment.until("decode-0", lambda u: u.state == "exited")
    assert unit.pid is None
    assert [proc.service for proc in deployment.backend.orphans()] == ["decode-0"]
    deployment.start("decode-0")
    until(lambda: deployment.running() == {"decode-0": 2} or None)
    assert deployment.backend.orphans() == ()


def test_a_daemon_that_hangs_is_named_and_its_end_is_the_way_out(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.install(decode_0="")
    deployment.start("decode-0")
    daemon = daemon_pid(deployment)
    os.kill(daemon, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr("launcher.backends.supervisord.client._TIMEOUT", 0.2)
        for call in (deployment.backend.units, deployment.backend.close, lambda: deployment.backend.stop(["decode-0"])):
            with pytest.raises(PdlaunchError, match="supervisord does not answer") as error:
                call()
            assert "supervisord.pid" in str(error.value.hint)
    assert render.pidfile(deployment.layout).read_text() == f"{daemon}\n"
    os.kill(daemon, signal.SIGKILL)
    until(lambda: "supervisord" not in look(deployment.layout.state).services or None)
    deployment.backend.stop(["decode-0"])
    deployment.start("decode-0")
    assert deployment.running() == {"decode-0": 1}


def test_a_twin_started_by_hand_is_found_and_ended_alone(deployment: Deployment) -> None:
    deployment.install(decode_0="--child orphan")
    deployment.start("decode-0")
    until(lambda: deployment.running() == {"decode-0": 2} or None)
    twin = subprocess.Popen([deployment.layout.generation(1) / "decode-0.sh"], stdout=subprocess.DEVNULL)
    until(lambda: deployment.running() == {"decode-0": 4} or None)
    assert twin.pid in [proc.pid for proc in deployment.backend.orphans()]
    pid = deployment.unit("decode-0").pid
    deployment.backend.end_orphans()
    assert twin.wait() == 0, "it was asked to stop"
    unit = deployment.unit("decode-0")
    assert (unit.pid, unit.state, unit.supervised) == (pid, "running", True)


def test_a_daemon_started_by_hand_starts_what_was_asked_to_run(deployment: Deployment) -> None:
    deployment.install(prefill_0="", decode_0="", router="")
    backend = deployment.backend
    deployment.start("prefill-0", "decode-0", "router")
    backend.stop(["router"])
    before = backend.units()["decode-0"].pid
    os.kill(daemon_pid(deployment), signal.SIGTERM)
    until(lambda: not backend.alive() or None)
    assert deployment.running() == {}
    subprocess.run(
        [sys.executable, "-m", "supervisor.supervisord", "-c", deployment.layout.state / "supervisord.conf"], check=True
    )
    until(lambda: deployment.running() == {"prefill-0": 1, "decode-0": 1} or None)
    unit = deployment.unit("decode-0")
    assert (unit.state, unit.supervised, unit.restarts) == ("running", True, 0)
    assert unit.pid != before
    assert deployment.unit("router").state == "stopped"


def test_a_daemon_that_is_ending_is_told_truly_and_its_services_can_be_stopped(deployment: Deployment) -> None:
    deployment.install(prefill_0="--ignore-term", decode_0="--ignore-term")
    backend = deployment.backend
    deployment.start("prefill-0", "decode-0")
    os.kill(daemon_pid(deployment), signal.SIGTERM)
    until(lambda: {u.state for u in backend.units().values()} == {"stopping"} or None)
    assert backend.alive()
    with pytest.raises(PdlaunchError, match="told to end"):
        deployment.backend.start(["prefill-0", "decode-0"])
    deployment.stop = Stop(drain=0.1, kill=0.2)
    deployment.backend.stop(["prefill-0", "decode-0"])
    backend.close()
    assert not backend.alive()
    assert look(deployment.layout.state).services == {}


def test_close_refuses_while_a_service_runs(deployment: Deployment) -> None:
    deployment.install(decode_0="")
    deployment.start("decode-0")
    with pytest.raises(PdlaunchError, match="still runs decode-0"):
        deployment.backend.close()
    assert deployment.unit("decode-0").state == "running"


def test_what_cannot_be_started_is_named(deployment: Deployment) -> None:
    deployment.install(decode_0="")
    script = deployment.layout.generation(1) / "decode-0.sh"
    script.unlink()
    with pytest.raises(PdlaunchError, match=r"decode-0\.sh"):
        deployment.backend.start(["decode-0"])
    assert deployment.unit("decode-0").state == "stopped"


def test_a_daemon_that_does_not_start_says_why(deployment: Deployment) -> None:
    deployment.install(decode_0="")
    shutil.rmtree(deployment.layout.logs)
    with pytest.raises(PdlaunchError, match=r"supervisord did not start: .*directory") as error:
        deployment.backend.start(["decode-0"])
    assert error.value.hint is not None
    assert "supervisord.log" in error.value.hint
    assert not deployment.backend.alive()


def test_a_generation_that_was_not_rendered_for_it_is_refused(deployment: Deployment) -> None:
    with pytest.raises(PdlaunchError, match=r"not rendered for supervisord"):
        deployment.backend.install(deployment.layout.generation(3))


def test_a_service_runs_as_its_user(place: Path) -> None:
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    place.chmod(0o755)
    deployment = Deployment(
        Layout(deployment="d", state=place / "state", cache=place, run=place / "d"), user=user.pw_name
    )
    deployment.command = ("/bin/sh", "-c", "echo stand-in is ready; exec sleep 60")  # this Python may not be for all
    deployment.install(decode_0="")
    deployment.start("decode-0")
    pid = deployment.unit("decode-0").pid
    assert Path(f"/proc/{pid}").stat().st_uid == user.pw_uid
    deployment.backend.stop(["decode-0"])
    absent = Deployment(deployment.layout, user="nobody-here")
    with pytest.raises(InputError, match="user nobody-here does not exist"):
        absent.install(decode_0="")


def test_logs_turn_over_and_keep_every_line(deployment: Deployment) -> None:
    deployment.install(decode_0="--lines 200000")
    deployment.start("decode-0")
    deployment.backend.stop(["decode-0"])
    log = deployment.layout.log("decode-0")
    assert log.with_name("decode-0.log.1").exists()
    text = "".join(path.read_text() for path in (log.with_name("decode-0.log.1"), log))
    assert text.count("stand-in line") == 200000


@pytest.mark.parametrize("odd", ["100% sure", "%(here)s", "a ;b #c", "it's", '"two" [x]*?', "äöü €", "$HOME\\n"])
def test_odd_paths(tmp_path: Path, place: Path, odd: str) -> None:
    layout = Layout(deployment="d", state=tmp_path / odd / "d", cache=tmp_path / odd, run=place / odd)
    deployment = Deployment(layout)
    deployment.install(decode_0="--exit-after 0.2")
    deployment.start("decode-0")
    deployment.until("decode-0", lambda u: u.restarts == 1)
    assert f"{layout.state}/decode-0" in deployment.log("decode-0")
    deployment.backend.stop(["decode-0"])
    deployment.backend.close()


def test_a_long_state_folder_is_no_matter_and_a_long_run_folder_is_named(tmp_path: Path, place: Path) -> None:
    state = tmp_path / "/".join(["x" * 60] * 4) / "d"
    deployment = Deployment(Layout(deployment="d", state=state, cache=tmp_path, run=place))
    deployment.install(decode_0="")
    deployment.start("decode-0")
    assert deployment.unit("decode-0").state == "running"
    far = Deployment(Layout(deployment="d", state=tmp_path / "e", cache=tmp_path, run=place / ("x" * 90)))
    with pytest.raises(InputError, match="socket is longer than 99 bytes"):
        far.install(decode_0="")


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_a_caller_killed_between_two_steps_can_be_repeated(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    names = ["prefill-0", "decode-0"]
    deployment.install(prefill_0="", decode_0="")
    backend = deployment.backend
    act, undo = (backend.start, backend.stop) if verb == "start" else (backend.stop, backend.start)
    undo(names)
    for step in itertools.count():
        with monkeypatch.context() as patch:
            patch.setattr(Client, "__call__", killed_at(step))
            try:
                act(names)
            except KeyboardInterrupt:
                finished = False
            else:
                finished = True
        # What is told is what is there, as soon as the scripts have become the servers.
        until(
            lambda: {n for n, u in backend.units().items() if u.state == "running"} == set(deployment.running()) or None
        )
        act(names)
        assert {u.state for u in backend.units().values()} == {"running" if verb == "start" else "stopped"}
        until(lambda: set(deployment.running()) == (set(names) if verb == "start" else set()) or None)
        if finished:
            break
        undo(names)
    assert step > 5


def killed_at(step: int) -> Callable[..., object]:
    """A client that never makes its call number `step`, nor anything after it."""
    whole, calls = Client.__call__, iter(range(step))

    def call(self: Client, method: str, *params: object, but: tuple[int, ...] = ()) -> object:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return whole(self, method, *params, but=but)

    return call


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def rpc(deployment: Deployment) -> Client:
    return Client(render.socket(deployment.layout))


def daemon_pid(deployment: Deployment) -> int:
    return int(rpc(deployment)("getPID"))


def kill_daemon(deployment: Deployment) -> None:
    os.kill(daemon_pid(deployment), signal.SIGKILL)
    until(lambda: "supervisord" not in look(deployment.layout.state).services or None)  # nor its listener


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
