"""What is changed beside pdlaunch is told, and the journal tells what was done in order."""

from __future__ import annotations

import json

import pytest

from ...deployments import Deployment
from .box import Box

pytestmark = pytest.mark.real

UNIT = "pd-one-aggregated-0.service"


def drift(box: Box) -> list[str]:
    return list(json.loads(box.pdlaunch("status", "--json").stdout)["drift"])


def test_drop_ins_edits_and_masks_are_drift(box: Box, one: Deployment) -> None:
    box.pdlaunch("up", one.profile)
    assert drift(box) == []
    units = box.folder / "keep/units"

    (units / f"{UNIT}.d").mkdir()
    (units / f"{UNIT}.d/override.conf").write_text("[Service]\nEnvironment=NCCL_DEBUG=INFO\n")
    box.systemctl("daemon-reload")
    path = f"/etc/systemd/system/{UNIT}.d/override.conf"
    told = f"aggregated-0  drop-in {path} (sets Environment); "
    assert drift(box) == [f"{told}Environment= has no effect: services start from an empty environment"]
    assert told in box.pdlaunch("diff", "--live", check=False).stdout
    (units / f"{UNIT}.d/override.conf").unlink()
    box.systemctl("daemon-reload")

    box.systemctl("set-property", "--runtime", UNIT, "MemoryHigh=8G")
    assert [line.split(" (")[0] for line in drift(box)] == [
        f"aggregated-0  drop-in /run/systemd/system.control/{UNIT}.d/50-MemoryHigh.conf"
    ]
    box.systemctl("revert", UNIT)

    text = (units / UNIT).read_text()
    (units / UNIT).write_text(text + "# mine\n")
    box.systemctl("daemon-reload")
    assert drift(box) == [f"aggregated-0  /etc/systemd/system/{UNIT} was edited"]
    box.pdlaunch("restart")
    assert drift(box) == []


def test_the_journal_tells_it_in_order(box: Box, one: Deployment) -> None:
    box.pdlaunch("up", one.profile, "-m", "first")
    box.pdlaunch("up", one.env(PDLAUNCH_SIM_TOKEN_MS="2").profile, "--confirm", "30m", "-m", "second")
    box.pdlaunch("confirm")
    box.pdlaunch("rollback", "--to", "1", "--yes", "-m", "slower")
    box.pdlaunch("down")
    lines = box.journal("-u", "pd-one*", "-t", "pdlaunch")
    beginnings = [
        "up by root: generation 1, first",
        "up done: generation 1 serves",
        "generation 1 returns at",
        "up by root: generation 2, second",
        "up done: generation 2 serves",
        "generation 1 returns at",
        "confirm by root: generation 2 stays",
        "rollback by root: generation 1, slower",
        "rollback done: generation 1 serves",
        "down by root",
        "down done",
    ]
    assert [line[: len(b)] for line, b in zip(lines, beginnings, strict=True)] == beginnings
    mixed = box.journal("-u", "pd-one*")
    assert [line for line in mixed if line in lines] == lines
    assert any("fired up and ready" in line for line in mixed[: mixed.index(lines[1])])
