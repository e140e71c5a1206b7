"""`doctor` with the real engine: NIXL between two processes, the router's binary, the tiny model's files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..deployments import pdlaunch

pytestmark = pytest.mark.real

WORKS = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}
Findings = dict[str, list[dict[str, Any]]]
Examine = Callable[..., tuple[int, Findings]]


@pytest.fixture
def examine(tmp_path: Path, installed_engines: Path, free_port: Callable[[], int]) -> Examine:
    """Write a profile of the CPU engine and examine this machine for it: exit code, findings by code."""

    def ask(*words: str, env: dict[str, str] = WORKS, **more: Any) -> tuple[int, Findings]:
        ports = [free_port() for _ in range(7)]
        profile = tmp_path / "pd.yaml"
        settings = {
            "name": "pd",
            "engine": {"kind": "cpu", "env": env},
            "prefill": {"port": ports[0], "nccl_port": ports[1], "bootstrap_port": ports[2]},
            "decode": {"port": ports[3], "nccl_port": ports[4]},
            "router": {"port": ports[5], "metrics_port": ports[6]},
        }
        profile.write_text(yaml.safe_dump(settings | more))
        done = pdlaunch("doctor", str(profile), "--json", *words)
        assert done.stdout, done.stderr
        found: Findings = {}
        for finding in json.loads(done.stdout)["findings"]:
            found.setdefault(finding["code"], []).append(finding)
        return done.returncode, found

    return ask


def test_bytes_move_over_what_the_profile_says(examine: Examine) -> None:
    code, found = examine()
    (moved,) = found["DR501"]
    assert code == 0, found
    assert moved["level"] == "ok"
    assert moved["text"].startswith("prefill-0 -> decode-0: ")
    assert " over tcp/lo, host memory (4 x 32 MiB, every byte equal)" in moved["text"]
    assert found["DR305"][0]["text"].startswith("the router loads: sglang-router 0.3.2")
    assert found["DR601"][0]["level"] == "ok"


def test_the_transport_is_the_one_that_was_really_used(examine: Examine) -> None:
    """tcp is allowed as well, and only meets the other end."""
    _, found = examine(env=WORKS | {"UCX_TLS": "tcp,sm,self"}, allow=allowed("engine.env.UCX_TLS=tcp,sm,self"))
    assert "/memory, host memory" in found["DR501"][0]["text"]


def test_a_device_that_is_not_there_is_a_blocker_with_the_reason(examine: Examine) -> None:
    code, found = examine(env=WORKS | {"UCX_NET_DEVICES": "nosuch0"})
    (failed,) = found["DR501"]
    assert code == 1
    assert failed["level"] == "blocker"
    assert "NIXL_ERR_BACKEND" in failed["text"]
    assert "network device 'nosuch0' is not available" in failed["text"]
    assert failed["fix"].startswith("UCX_NET_DEVICES: lo")


def test_transports_that_cannot_meet_are_a_blocker_with_the_reason(
    examine: Examine,
) -> None:
    allow = allowed("PD201", "engine.env.UCX_TLS=sm,self")
    code, found = examine(env={"UCX_TLS": "sm,self"}, allow=allow)
    assert code == 1
    assert "no active messages transport" in found["DR501"][0]["text"]
    assert "add tcp" in found["DR501"][0]["fix"]


def test_a_floor_that_is_not_reached_is_a_blocker(examine: Examine) -> None:
    code, found = examine(transfer={"floor": "900GB/s"})
    assert code == 1
    assert "below the profile's floor of 900.0 GB/s" in found["DR501"][0]["text"]


def allowed(*what: str) -> list[dict[str, str]]:
    return [{"what": w, "why": "to see what it says", "by": "tests", "until": "2099-01-01"} for w in what]
