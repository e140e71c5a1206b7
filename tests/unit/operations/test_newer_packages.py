from __future__ import annotations

import os
import venv
from pathlib import Path

import pytest

from launcher.operations.newer_packages import newer_packages
from launcher.plan import Plan

from ..store.making import a_plan, a_service

STARTED = 1_700_000_000.0


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    made = tmp_path / "venv"
    venv.create(made, symlinks=True)
    return made


def install(environment: Path, name: str, version: str, at: float) -> None:
    (packages,) = environment.glob("lib/python*/site-packages")
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    os.utime(info, (at, at))


def planned(environment: Path) -> Plan:
    services = []
    for name in ("prefill-0", "decode-0"):
        service = a_service(name)
        head = service.argv[0].model_copy(update={"words": (str(environment / "bin/python"), "-m", "x")})
        services.append(service.model_copy(update={"argv": (head, *service.argv[1:])}))
    return a_plan(*services)


def test_what_came_after_the_start_is_told(environment: Path) -> None:
    install(environment, "torch", "2.13.0", STARTED + 60)
    install(environment, "numpy", "2.1.0", STARTED - 60)
    plan = planned(environment)
    started = {"prefill-0": STARTED, "decode-0": STARTED + 120, "another": STARTED}
    assert list(newer_packages(plan, started)) == [("prefill-0", "torch 2.13.0")]
    for number in range(4):
        install(environment, f"a{number}", "1", STARTED + 60)
    assert dict(newer_packages(plan, started)) == {"prefill-0": "a0 1, a1 1, a2 1 and 2 more"}


def test_nothing_came(environment: Path, tmp_path: Path) -> None:
    install(environment, "torch", "2.13.0", STARTED - 60)
    assert list(newer_packages(planned(environment), {"prefill-0": STARTED})) == []
    assert list(newer_packages(planned(tmp_path / "gone"), {"prefill-0": STARTED})) == []


def test_a_simulator_is_a_copy(environment: Path) -> None:
    install(environment, "torch", "2.13.0", STARTED + 60)
    plan = planned(environment)
    simulated = plan.model_copy(update={"engine": plan.engine.model_copy(update={"kind": "simulator"})})
    assert list(newer_packages(simulated, {"prefill-0": STARTED})) == []
