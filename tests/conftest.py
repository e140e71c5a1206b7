"""What every test stands on: folders of its own, no proxies, and ports that no other test has."""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from launcher.engines.cpu.engine import home as cpu_home
from launcher.engines.environment import environment_at

from .deployments import Deployment, aggregated, pair
from .nvml import Nvml, build

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")  # how fast this machine is just now is no property of the code

PORTS = range(12_000, 22_000)
"""For tests to ask for: below what kernels hand out, what SGLang draws at random, and what plans assign."""
ASSIGNED = range(10_000, 12_000)
"""Where a plan's own ports lie in tests that let it assign some."""
WORKERS = 16
"""Parts that the ranges are cut into, one for each xdist worker."""
ROUTER = "sglang-router==0.3.2"
CPU_HOME = cpu_home()
"""Where this machine's own CPU engine belongs, asked before any test is given folders of its own."""


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test looks at this machine's own deployments, holds and engines, nor at who runs it."""
    for name in ("state", "cache", "holds", "data"):
        monkeypatch.setenv(f"PDLAUNCH_{name.upper()}_DIR", str(tmp_path / name))
    # A UNIX socket's path holds 107 bytes, and pytest's folders are deep.
    run = Path(tempfile.mkdtemp(prefix="pdl-", dir="/tmp"))
    monkeypatch.setenv("PDLAUNCH_RUN_DIR", str(run))
    monkeypatch.setenv("PDLAUNCH_BACKEND", "supervisord")  # no test changes this machine's own systemd
    for name in ("PDLAUNCH_BY", "SUDO_USER", "NO_COLOR", "COLUMNS", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    yield
    shutil.rmtree(run, ignore_errors=True)


@pytest.fixture(scope="session")
def _nvml_libraries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(_nvml_libraries: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """A stand-in for NVIDIA's library, which says what a test tells it."""
    return Nvml(*_nvml_libraries, tmp_path, monkeypatch)


def _candidates(worker: str) -> Iterator[int]:
    """The ports of one xdist worker in turn, from a random one on: another run may be under way beside this one."""
    block: Sequence[int] = PORTS
    if worker.startswith("gw"):
        size = len(PORTS) // WORKERS
        block = PORTS[int(worker.removeprefix("gw")) % WORKERS * size :][:size]
    begin = random.randrange(len(block))
    return itertools.cycle((*block[begin:], *block[:begin]))


@pytest.fixture(scope="session")
def _ports(worker_id: str) -> Iterator[int]:
    return _candidates(worker_id)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


@pytest.fixture
def free_port(_ports: Iterator[int]) -> Callable[[], int]:
    """Ports that nobody listens on, another one at each call, and other ones for each xdist worker."""
    return lambda: next(filter(_is_free, _ports))


@pytest.fixture
def assigned_ports(monkeypatch: pytest.MonkeyPatch, worker_id: str) -> int:
    """Where plans made in this process begin to assign ports: a router's metrics port cannot be written.

    On a machine where something else is deployed the usual place is taken.
    """
    number = int(worker_id.removeprefix("gw")) if worker_id.startswith("gw") else random.randrange(WORKERS)
    span = len(ASSIGNED) // WORKERS
    begins = (ASSIGNED[(number + n) % WORKERS * span] for n in itertools.count())
    begin = next(begin for begin in begins if all(map(_is_free, range(begin, begin + span))))
    monkeypatch.setattr("launcher.plan.ports.FIRST_BLOCK", begin)
    return begin


@pytest.fixture
def installed_engines(monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine's own engines, for the tests that serve with the real one; where the CPU engine belongs."""
    monkeypatch.setenv("PDLAUNCH_DATA_DIR", str(CPU_HOME.parents[1]))
    return CPU_HOME


@pytest.fixture(scope="session")
def router_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the real router: the CPU engine's, else one that is made once and kept."""
    engine = environment_at(CPU_HOME / "venv")
    if engine and engine.version_of("sglang-router"):
        return CPU_HOME / "venv"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pdlaunch-tests"
    cache.mkdir(parents=True, exist_ok=True)
    home, done = cache / ROUTER, cache / f"{ROUTER}.done"
    with (cache / f"{ROUTER}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            subprocess.run([str(home / "bin/python"), "-m", "pip", "install", "-q", ROUTER], check=True)
            done.touch()
    link = tmp_path_factory.mktemp("router") / "venv"
    link.symlink_to(home)  # a program's path must not contain '='
    return link


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request for tokens is given up after a few seconds; how long servers may load is left as it is."""
    monkeypatch.setattr("launcher.operations.proving._left", lambda _deadline: 4.0)


@pytest.fixture
def agg(tmp_path: Path, free_port: Callable[[], int]) -> Iterator[Deployment]:
    """One simulated server without a router; nothing of it is left after the test."""
    made = aggregated(tmp_path, free_port)
    yield made
    made.end()


@pytest.fixture
def pd(tmp_path: Path, free_port: Callable[[], int], router_venv: Path, assigned_ports: None) -> Iterator[Deployment]:
    """A simulated pair behind the real router; nothing of it is left after the test."""
    made = pair(tmp_path, free_port, router_venv)
    yield made
    made.end()
