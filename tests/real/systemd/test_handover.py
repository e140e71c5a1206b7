"""Servers that other units had started: adopted, handed over, taken back; after each reboot exactly one set runs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ...deployments import until
from .box import Box

pytestmark = pytest.mark.real

OLD = "old-sim.service"
NEW = "pd-tiny-aggregated-0.service"


def serving(box: Box, port: int) -> set[str]:
    """The units that have a process of a simulator on that port."""
    units = set()
    for pid in box.run("pgrep", "-f", f"launcher.simulator .*--port {port}", check=False).stdout.split():
        found = re.search(r"([\w-]+\.service)", box.run("cat", f"/proc/{pid}/cgroup", check=False).stdout)
        units.add(found[1] if found else "")
    return units


@pytest.fixture
def port(box: Box, tmp_path: Path, free_port: Callable[[], int]) -> int:
    """An old unit serves there, enabled."""
    number = free_port()
    words = f"{sys.executable} -m launcher.simulator --model-path /models/tiny --nccl-port {free_port()}"
    script = tmp_path / "serve.sh"
    script.write_text(
        f"#!/bin/bash\nexport SGLANG_LOG_MS=1\n"
        f"exec {words} --context-length 4096 --chunked-prefill-size 256 --port {number}\n"
    )
    script.chmod(0o755)
    (box.folder / "keep/units" / OLD).write_text(
        f"[Service]\nExecStart={script}\nWorkingDirectory={tmp_path}\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"
    )
    box.systemctl("daemon-reload")
    box.systemctl("enable", "--now", OLD)
    until(lambda: serving(box, number) == {OLD}, "the old unit serves")
    return number


def test_exactly_one_set_runs_after_each_way(box: Box, port: int, tmp_path: Path) -> None:
    profile = tmp_path / "tiny.yaml"
    until(lambda: box.run("bash", "-c", f": </dev/tcp/127.0.0.1/{port}", check=False).returncode == 0, "it listens")
    box.pdlaunch("adopt", str(box.pid(OLD)), "--name", "tiny", "--as", "before", "-o", profile)
    assert serving(box, port) == {OLD}
    done = box.pdlaunch("up", profile, "--confirm", "30m", check=False)
    assert (done.returncode, "still runs under its old units" in done.stderr) == (2, True)

    box.pdlaunch("up", profile)
    assert serving(box, port) == {NEW}
    assert box.systemctl("is-enabled", OLD, check=False) == "disabled"
    box.reboot()
    until(lambda: serving(box, port) == {NEW}, "the new set comes back")
    assert serving(box, port) == {NEW}

    box.pdlaunch("rollback", "--to", "before", "--yes")
    assert serving(box, port) == {NEW}  # as it was adopted, still under a unit of pdlaunch until the next boot
    assert box.systemctl("is-enabled", OLD) == "enabled"
    assert json.loads(box.pdlaunch("status", "--json").stdout)["state"] == "ok"
    box.reboot()
    until(lambda: serving(box, port) == {OLD}, "the old set comes back")
    assert serving(box, port) == {OLD}
    assert box.active() == set()
