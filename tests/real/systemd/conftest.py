"""Boxes for tests, and deployments in them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ...deployments import Deployment, aggregated, pair
from .box import Box


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A box that has been booted; nothing of it is left after the test."""
    assert os.geteuid() == 0, "systemd in namespaces of its own needs root"
    folder = Path(tempfile.mkdtemp(prefix="box-", dir="/tmp"))
    # Holds, sockets and pids are forgotten in a reboot, as on any machine.
    places = {"PDLAUNCH_RUN_DIR": "/run/pdlaunch", "PDLAUNCH_HOLDS_DIR": "/run/lock/pdlaunch"}
    made = Box(folder, {**places, "PDLAUNCH_BACKEND": "systemd"})
    made.boot()
    yield made
    made.shut_down()
    shutil.rmtree(folder)


@pytest.fixture
def one(tmp_path: Path, free_port: Callable[[], int]) -> Deployment:
    """One simulated server, to be brought up in a box."""
    return aggregated(tmp_path, free_port, "one")


@pytest.fixture
def pd(tmp_path: Path, free_port: Callable[[], int], router_venv: Path) -> Deployment:
    """A simulated pair behind the real router, to be brought up in a box."""
    made = pair(tmp_path, free_port, router_venv)
    made.settings["router"]["metrics_port"] = free_port()
    return made
