"""The supervisord backend with the real supervisord and stand-in servers."""

from __future__ import annotations

import shutil
import signal
import socket
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
from launcher.plan.model import MARK, Argument, EngineUse, Origin, Plan, Service, Variable
from launcher.profile.model import Ready, Restart, Stop
from launcher.render import Layout, render

pytestmark = pytest.mark.real

STANDIN = Path(__file__).with_name("standin_server.py")
OWN = Origin(kind="pdlaunch")


@dataclass
class Deployment:
    """A deployment of stand-ins in a folder of its own."""

    layout: Layout
    stop: Stop = field(default_factory=lambda: Stop(drain=20, kill=30))
    restart: Restart = field(default_factory=lambda: Restart(tries=2, within=60))

    @property
    def backend(self) -> Supervisord:
        return Supervisord(self.layout, self.stop)

    def install(self, number: int = 1, **services: str) -> None:
        """Write generation `number`, as the store does, and install it."""
        folder = self.layout.generation(number)
        bundle = render(self.plan(services), self.layout)
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
            services=tuple(self.service(name.replace("_", "-"), options) for name, options in services.items()),
            chunk=1,
            context=None,
            ready=Ready(),
            stop=self.stop,
            restart=self.restart,
            on_hang="collect",
            backend="supervisord",
        )

    def service(self, name: str, options: str) -> Service:
        words = (sys.executable, str(STANDIN), *options.split())
        return Service(
            name=name,
            role="decode",
            argv=(Argument(words=words, origin=OWN),),
            env=(Variable(name=MARK, value=name, origin=OWN, root="state"),),
            host="127.0.0.1",
            ports={},
        )

    def unit(self, name: str) -> Unit:
        return self.backend.units()[name]

    def until(self, name: str, condition: Callable[[Unit], bool]) -> Unit:
        return until(lambda: unit if condition(unit := self.unit(name)) else None)

    def log(self, name: str) -> str:
        return self.layout.log(name).read_text()

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
    for state in (p.parent for p in tmp_path.rglob("supervisord.conf")):
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
    assert {name: unit.state for name, unit in backend.units().items()} == {
        "prefill-0": "stopped",
        "decode-0": "stopped",
    }

    backend.start(["prefill-0", "decode-0"])
    assert backend.alive()
    unit = deployment.unit("decode-0")
    assert (unit.state, unit.wanted, unit.supervised, unit.restarts) == ("running", True, True, 0)
    until(lambda: listens(free_port) or None)
    assert unit.pid is not None
    assert Path(f"/proc/{unit.pid}/exe").samefile(sys.executable)
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


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
