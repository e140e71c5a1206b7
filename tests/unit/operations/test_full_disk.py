"""No room left in the middle of an `up`: one clear error, the truth from `status`, and nothing to mend by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launcher.store import state_dir

from ...deployments import Deployment

pytestmark = pytest.mark.real


def _own_mounts() -> bool:
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _own_mounts(), reason="a disk of its own needs the right to mount, which only root has")
def test_ever_less_room(agg: Deployment) -> None:
    profile = agg.env(PDLAUNCH_SIM_TOKEN_MS="0").profile
    state_dir().mkdir(parents=True)
    script = f'mount -t tmpfs -o size=3m tmpfs "$1" && exec "$2" "{Path(__file__).with_name("full_disk.py")}" "$3"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", str(state_dir()), sys.executable, str(profile)],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    comes_back(said["back"])
    results = said["ups"]
    failed = [found for found in results if found["error"]]
    assert failed[0]["error"][0] == 1
    for found in failed:
        code, message = found["error"]
        assert (code, "o space left" in message) == (1, True), message
        assert found["state"] in ("ok", "failed", "interrupted")
        assert (found["running"] == ["aggregated-0"]) == (found["state"] == "ok")
    assert {found["after"] for found in results} == {"ok"}
    assert [found["damage"] for found in results] == [[]] * len(results)
    generations = [found["generation"] for found in results]
    assert generations == sorted(set(generations))
    assert results[-1]["error"] is None


def comes_back(found: dict[str, Any]) -> None:
    """Without any room: a restart works, a way back is refused before anything stops, and `prune` makes room."""
    assert (found["restarted"], found["told"]) == ("ok", ["not written"])
    code, message = found["refused"]
    assert (code, "o space left" in message, message.endswith("serves again")) == (6, True, True), message
    assert found["serving"] == ["ok", found["from"]]
    assert found["pruned"] > 0
    assert found["room"] > 0
    assert found["back"] == ["ok", True, []]
