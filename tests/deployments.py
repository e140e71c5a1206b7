"""Deployments of simulators that tests bring up: a profile to write, edit and hand to operations or to `pdlaunch`."""

from __future__ import annotations

import contextlib
import copy
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from launcher.backends.processes import Proc, look
from launcher.errors import PdlaunchError
from launcher.operations.down import down
from launcher.operations.events import Event
from launcher.operations.status import ServiceStatus, Status, status
from launcher.operations.up import Up, up
from launcher.store import Store, holders, layout

PDLAUNCH = str(Path(sys.executable).with_name("pdlaunch"))
T = TypeVar("T")


def until(condition: Callable[[], T | None], what: str = "", *, seconds: float = 30.0) -> T:
    """What `condition` returns once that is neither None nor false; fails when it takes longer."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what or condition}"
        time.sleep(0.02)
    return found


@dataclass(slots=True)
class Told:
    """What an operation told while it worked."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def text(self) -> str:
        """The lasting events, a line each."""
        return "\n".join(f"{e.subject}  {e.text}" for e in self.events if not e.passing)


class Started:
    """A command line in a process and session of its own, not waited for."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._out, self._err = folder / f"{uuid.uuid4()}.out", folder / f"{uuid.uuid4()}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [PDLAUNCH, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Its exit code."""
        return self.process.wait(90)


@dataclass(slots=True)
class Deployment:
    """One profile and the deployment that it becomes; `settings` is the profile as data."""

    folder: Path
    settings: dict[str, Any]
    comment: str = ""
    told: Told = field(default_factory=Told)
    begun: list[Started] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.settings["name"])

    @property
    def profile(self) -> Path:
        """The profile's file, written as `settings` are now."""
        path = self.folder / f"{self.name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.comment + yaml.safe_dump(self.settings, sort_keys=False))
        return path

    @property
    def store(self) -> Store:
        return Store(layout(self.name))

    @property
    def status(self) -> Status:
        return status(self.store)

    @property
    def state(self) -> str:
        return self.status.state

    @property
    def pids(self) -> dict[str, int | None]:
        """The main process of each service."""
        return {service.name: service.pid for service in self.status.services}

    def service(self, name: str) -> ServiceStatus:
        return next(s for s in self.status.services if s.name == name)

    def procs(self) -> dict[str, tuple[Proc, ...]]:
        """Every process of the deployment by service, its supervisor too."""
        return dict(look(layout(self.name).state).services)

    def log(self, service: str) -> str:
        return self.store.layout.log(service).read_text()

    def env(self, level: str = "engine", **variables: str | None) -> Deployment:
        """Set variables at one level of the profile; None removes the line."""
        env = self.settings[level].setdefault("env", {})
        env |= variables
        for name in [name for name, value in variables.items() if value is None]:
            del env[name]
        return self

    def up(self, **options: Any) -> Up:
        return up(self.profile, self.told, **options)

    def pdlaunch(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """One command line in a process of its own."""
        return pdlaunch(*words, **options)

    def start_up(self, *words: str) -> Started:
        """`pdlaunch up` of the profile, not waited for."""
        begun = Started(self.folder, "up", str(self.profile), *words)
        self.begun.append(begun)
        return begun

    def another(self, name: str, **changes: Any) -> Deployment:
        """A deployment of another name with the same settings, but for `changes`."""
        settings = copy.deepcopy(self.settings) | changes | {"name": name}
        return Deployment(self.folder, settings)

    def assert_nothing_left(self) -> None:
        """No process, no listening port, no socket, no hold."""
        assert self.procs() == {}
        assert [hold for hold in holders().values() if hold.deployment == self.name] == []
        run = layout(self.name).run
        assert not run.is_dir() or list(run.iterdir()) == []

    def end(self) -> None:
        """Kill whatever is left, whoever started it."""
        for begun in self.begun:
            begun.process.kill()
            begun.process.wait()
        with contextlib.suppress(PdlaunchError):
            down(self.store, self.told, drain=False)
        while procs := [proc for found in self.procs().values() for proc in found]:
            for proc in procs:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(proc.pid, signal.SIGKILL)
            time.sleep(0.02)


def pdlaunch(
    *words: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """One command line without a terminal."""
    return subprocess.run(
        [PDLAUNCH, *words],
        env={**os.environ, **(environment or {})},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def aggregated(folder: Path, free_port: Callable[[], int], name: str = "agg") -> Deployment:
    """One simulated server that does both, without a router."""
    settings = {
        "name": name,
        "engine": {"kind": "simulator", "args": {"context-length": 8192, "chunked-prefill-size": 256}},
        "aggregated": {"port": free_port(), "nccl_port": free_port()},
        "ready": {"within": "30s"},
        "stop": {"drain": "1s", "kill": "3s"},
        "restart": {"tries": 2, "within": "1m"},
        "watch": {"on_hang": "none"},  # a Python more for each of hundreds of deployments
    }
    return Deployment(folder, settings)


def pair(folder: Path, free_port: Callable[[], int], router: Path, name: str = "pd") -> Deployment:
    """One prefill and one decode behind the real router of the environment `router`."""
    made = aggregated(folder, free_port, name)
    del made.settings["aggregated"]
    made.settings |= {
        "prefill": {"port": free_port(), "nccl_port": free_port(), "bootstrap_port": free_port()},
        "decode": {"port": free_port(), "nccl_port": free_port()},
        "router": {"venv": str(router), "port": free_port()},
    }
    return made
