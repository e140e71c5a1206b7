"""SIGKILL at changing calls of `up`, `rollback` and `down`, then a reboot: one whole generation comes back, or nothing.

A few random points each, other ones on every run; all of them, in an hour, with PDLAUNCH_TEST_POINTS=all.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from ...deployments import Deployment, until
from .box import Box

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

SLACK = 8
"""Calls by which one run differs from the next."""
CHECKOUT = Path(__file__).parents[3]


def killed(box: Box, point: int, *words: str) -> int:
    """Run an operation in the box up to a point; see `crashing`."""
    command = [
        "env",
        "-C",
        str(CHECKOUT),
        sys.executable,
        "-B",
        "-m",
        "tests.real.systemd.crashing",
        str(point),
        *words,
    ]
    return int(box.run(*command).stdout.split()[-1])


def points(total: int) -> Iterator[int]:
    """Some of the points, or all."""
    assert total > 25
    wanted = os.environ.get("PDLAUNCH_TEST_POINTS", "2")
    every = range(1, total + 1)
    chosen = list(every) if wanted == "all" else sorted(random.sample(every, min(int(wanted), total)))
    print(f"points {chosen} of {total}")  # noqa: T201 - shown where the test fails
    yield from chosen


def running(box: Box) -> dict[str, str]:
    """Each service that runs, and the generation whose script its unit names."""
    found = {}
    for unit in sorted(box.active()):
        text = box.systemctl("cat", unit)
        if script := re.search(r"ExecStart=\S*/generations/(\d+)/([\w-]+)\.sh", text):
            found[script[2]] = script[1]
    return found


def comes_back(box: Box, deployment: Deployment, allowed: set[int]) -> None:
    """After a reboot exactly one generation of `allowed` (0: nothing) runs whole, and the pointer names it."""
    box.reboot()
    until(lambda: box.show("pd-pd-boot.service", "ActiveState") in ("inactive", "failed"), "the boot has done its part")
    assert box.show("pd-pd-boot.service", "Result") == "success"
    until(lambda: not box.systemctl("list-jobs", "--no-legend"), "what it began is done", seconds=90)
    found = running(box)
    if not found:
        assert 0 in allowed
        return
    assert found.keys() == {"prefill-0", "decode-0", "router"}
    assert len(set(found.values())) == 1
    current = deployment.store.current()
    assert str(current) == found["router"]
    assert current in allowed


def serves(box: Box, generation: int) -> None:
    seen = json.loads(box.pdlaunch("status", "--json").stdout)
    assert (seen["state"], seen["generation"], seen["drift"]) == ("ok", generation, [])
    assert set(running(box).values()) == {str(generation)}


@pytest.fixture
def turning(box: Box, pd: Deployment) -> Iterator[Deployment]:
    """Each `next` gives the deployment with other settings for all its servers."""
    values = cycle("123456789")

    def turns() -> Iterator[Deployment]:
        while True:
            yield pd.env(PDLAUNCH_SIM_TOKEN_MS=next(values))

    return turns()


def test_an_up_that_is_killed(box: Box, turning: Iterator[Deployment]) -> None:
    box.pdlaunch("up", next(turning).profile)
    total = killed(box, 0, "up", str(next(turning).profile))
    for point in points(total):
        deployment = next(turning)
        before = deployment.store.current()
        assert killed(box, point, "up", str(deployment.profile)) or point > total - SLACK
        comes_back(box, deployment, {before or 0, deployment.store.numbers()[-1]})
        box.pdlaunch("up", deployment.profile)
        serves(box, deployment.store.numbers()[-1])


def test_units_that_were_placed_and_not_read_are_read_by_the_next(box: Box, one: Deployment) -> None:
    """Killed between the last file and the reload: what systemd still knows is another generation's script."""
    name = "pd-one-aggregated-0.service"
    box.pdlaunch("up", one.profile)
    box.systemctl("kill", "--signal=KILL", name)  # it stays loaded: it is waiting to be started again
    edited = box.folder / "keep/units" / name
    edited.write_text(edited.read_text().replace("/generations/1/", "/generations/2/"))
    box.systemctl("daemon-reload")
    edited.write_text(edited.read_text().replace("/generations/2/", "/generations/1/"))
    assert box.show(name, "NeedDaemonReload") == "yes"
    box.pdlaunch("restart")
    assert "/generations/1/aggregated-0.sh" in box.show(name, "ExecStart")


def test_an_up_to_be_confirmed_that_is_killed_never_boots(box: Box, turning: Iterator[Deployment]) -> None:
    box.pdlaunch("up", next(turning).profile)
    total = killed(box, 0, "up-confirm", str(next(turning).profile))
    box.pdlaunch("confirm")
    for point in points(total):
        deployment = next(turning)
        before = deployment.store.current()
        assert killed(box, point, "up-confirm", str(deployment.profile)) or point > total - SLACK
        comes_back(box, deployment, {before or 0})
        box.pdlaunch("up", deployment.profile, "--confirm", "30m")
        box.pdlaunch("confirm")
        serves(box, deployment.store.numbers()[-1])


def test_a_rollback_and_a_down_that_are_killed(box: Box, turning: Iterator[Deployment]) -> None:
    box.pdlaunch("up", next(turning).profile)
    deployment = next(turning)
    box.pdlaunch("up", deployment.profile)
    total = killed(box, 0, "rollback", "pd:1")
    targets = cycle((2, 1))
    for point in points(total):
        target = next(targets)
        assert killed(box, point, "rollback", f"pd:{target}") or point > total - SLACK
        comes_back(box, deployment, {1, 2})
        box.pdlaunch("rollback", "--to", str(target), "--yes")
        serves(box, target)
    total = killed(box, 0, "down", "pd")
    for point in points(total):
        box.pdlaunch("restart")
        assert killed(box, point, "down", "pd") or point > total - SLACK
        comes_back(box, deployment, {0, 1, 2})
        box.pdlaunch("down")
        assert box.active() == set()
