"""Real SGLang, NIXL and router on CPU under a real systemd, one bring-up after the other in one story."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from launcher.shipped import shipped

from ...deployments import Deployment, until
from .box import Box

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

PREFILL, DECODE, ROUTER = (f"pd-tiny-{name}.service" for name in ("prefill-0", "decode-0", "router"))
LOADING = 240.0
"""Seconds for real servers to load on a busy machine."""


@pytest.fixture
def tiny(tmp_path: Path, free_port: Callable[[], int], installed_engines: Path) -> Deployment:
    """The shipped profile of the CPU engine, with ports of its own."""
    settings = yaml.safe_load((shipped("profiles") / "cpu-tiny.yaml").read_text())
    made = Deployment(tmp_path, copy.deepcopy(settings) | {"name": "tiny", "restart": {"tries": 2, "within": "30m"}})
    made.settings["prefill"] = {key: free_port() for key in ("port", "nccl_port", "bootstrap_port")}
    made.settings["decode"] |= {key: free_port() for key in ("port", "nccl_port")}
    made.settings["router"] |= {key: free_port() for key in ("port", "metrics_port")}
    return made


def status(box: Box) -> dict[str, Any]:
    return dict(json.loads(box.pdlaunch("status", "--json", check=False).stdout))


def serves(box: Box, generation: int) -> bool:
    seen = status(box)
    return (seen["state"], seen["generation"]) == ("ok", generation)


def scheduler(box: Box, unit: str) -> int:
    """The process of a server that holds the model."""
    found = box.run("pgrep", "-P", str(box.pid(unit)), "-f", "sglang::scheduler", check=False).stdout.split()
    return int(found[0]) if found else 0


def test_what_breaks_comes_back_and_what_is_not_confirmed_does_not(box: Box, tiny: Deployment) -> None:
    up = ("up", tiny.profile, "--backend", "systemd")
    assert "generation 1" in box.pdlaunch(*up, timeout=LOADING).stdout
    assert serves(box, 1)
    prefill = box.pid(PREFILL)

    # kill -9 of a scheduler: the server ends with it and is started again, alone.
    first = box.pid(DECODE)
    box.run("kill", "-9", str(until(lambda: scheduler(box, DECODE), "it has a scheduler")))
    until(lambda: box.pid(DECODE) not in (0, first), "decode is started again", seconds=LOADING)
    until(lambda: serves(box, 1), "it serves again", seconds=LOADING)
    assert box.pid(PREFILL) == prefill

    # A scheduler that stands still never lets its server drain; a change ends it all the same.
    box.run("kill", "-STOP", str(scheduler(box, DECODE)))
    tiny.settings["decode"].setdefault("env", {})["NCCL_DEBUG"] = "WARN"
    box.pdlaunch("up", tiny.profile, "--backend", "systemd", "--confirm", "30m", timeout=LOADING + 60)
    assert serves(box, 2)
    assert box.pid(PREFILL) == prefill

    # Not confirmed: after a restart of the machine the former generation is the current one.
    box.reboot()
    until(lambda: serves(box, 1), "generation 1 comes back at boot", seconds=LOADING)
    assert "too late: generation 2 was" in box.pdlaunch("confirm", check=False).stderr

    # The router is started again a few times, then left; a person's restart counts anew.
    for _ in range(tiny.settings["restart"]["tries"] + 1):
        box.run("kill", "-9", str(until(lambda: box.pid(ROUTER), "the router runs")))
        until(lambda: box.pid(ROUTER) == 0, "it is gone")
    until(lambda: box.show(ROUTER, "ActiveState") == "failed", "it is left as it is")
    assert status(box)["state"] == "degraded"
    box.pdlaunch("restart", "router")
    assert serves(box, 1)

    # Back to the other one: only decode differs.
    prefill = box.pid(PREFILL)
    box.pdlaunch("rollback", "--to", "2", "--yes", timeout=LOADING)
    assert serves(box, 2)
    assert box.pid(PREFILL) == prefill

    # A server that does not end by itself does not outlive `down`.
    box.run("kill", "-STOP", str(scheduler(box, DECODE)))
    box.pdlaunch("down")
    assert box.active() == set()
    assert box.run("sh", "-c", "grep -lz PDLAUNCH_SERVICE= /proc/[0-9]*/environ", check=False).stdout == ""
    ports = {str(port) for role in ("prefill", "decode", "router") for port in tiny.settings[role].values() if port}
    listening = box.run("cat", "/proc/net/tcp").stdout
    assert not any(f":{int(port):04X} 00000000:0000 0A" in listening for port in ports if port.isdecimal())
