"""`up --confirm`: kept when confirmed in time, else the former generation returns, whatever restarts meanwhile."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import pytest

from ...deployments import PDLAUNCH, Deployment, until
from .box import Box

pytestmark = pytest.mark.real

LONG, SHORT = "30m", "8s"


def status(box: Box) -> dict[str, Any]:
    return dict(json.loads(box.pdlaunch("status", "--json", check=False).stdout))


def serves(box: Box, generation: int) -> bool:
    seen = status(box)
    return (seen["state"], seen["generation"]) == ("ok", generation)


def turn(deployment: Deployment, value: str) -> Deployment:
    return deployment.env(PDLAUNCH_SIM_TOKEN_MS=value)


def boots(box: Box) -> str:
    """The generation that the boot unit names."""
    found = re.search(r"/generations/(\d+)/activate", box.systemctl("cat", "pd-one-boot.service"))
    assert found
    return found[1]


@pytest.fixture
def served(box: Box, one: Deployment) -> Deployment:
    """Generation 1 serves, and the profile says something else by now."""
    box.pdlaunch("up", turn(one, "1").profile)
    return turn(one, "2")


def test_confirmed_in_time_it_stays(box: Box, served: Deployment) -> None:
    done = box.pdlaunch("up", served.profile, "--confirm", LONG)
    assert "hint: pdlaunch confirm -d one" in done.stderr
    assert box.systemctl("is-enabled", "pd-one-return.timer") == "enabled"
    assert boots(box) == "1"
    seen = status(box)
    assert (seen["generation"], seen["returns_to"]) == (2, 1)
    assert dt.datetime.fromisoformat(seen["unconfirmed_until"]) > dt.datetime.now(dt.UTC)
    assert "not confirmed: generation 1 returns at" in seen["remark"]

    assert "would keep generation 2" in box.pdlaunch("confirm", "--dry-run").stdout
    assert status(box)["returns_to"] == 1
    assert "confirmed  generation 2" in box.pdlaunch("confirm", "-m", "agents run").stdout
    assert (boots(box), status(box)["returns_to"]) == ("2", None)
    assert box.systemctl("list-timers", "--all", "--no-legend", "pd-one-return.timer") == ""
    again = box.pdlaunch("confirm", check=False)
    assert (again.returncode, again.stderr.splitlines()[0]) == (2, "error: nothing of one waits for a confirmation")

    box.reboot()
    until(lambda: serves(box, 2), "the confirmed one comes back")


def test_not_confirmed_the_former_returns(box: Box, served: Deployment) -> None:
    box.pdlaunch("up", served.profile, "--confirm", SHORT)
    until(lambda: serves(box, 1), "generation 1 serves again", seconds=60)
    until(lambda: box.show("pd-one-return.service", "ActiveState") in ("inactive", ""), "its unit has ended")
    late = box.pdlaunch("confirm", check=False)
    assert late.returncode == 2
    assert late.stderr.startswith("error: too late: generation 2 was not confirmed in time")
    assert boots(box) == "1"
    assert box.systemctl("list-unit-files", "--no-legend", "pd-one-return.*", check=False) == ""
    assert "generation 2 was not confirmed until" in (served.store.layout.state / "journal.jsonl").read_text()


def test_a_restart_of_manager_and_machine_puts_nothing_off(box: Box, served: Deployment) -> None:
    box.pdlaunch("up", served.profile, "--confirm", LONG)
    box.systemctl("daemon-reexec")
    assert serves(box, 2)
    assert box.show("pd-one-return.timer", "ActiveState") == "active"
    box.reboot()
    until(lambda: serves(box, 1), "a boot brings back the former one, as nobody confirmed the other")
    late = box.pdlaunch("confirm", check=False)
    assert late.stderr.startswith("error: too late: generation 2 was left")


def test_what_somebody_activates_by_hand_after_a_boot_stays(box: Box, served: Deployment) -> None:
    box.pdlaunch("up", served.profile, "--confirm", LONG)
    box.reboot()
    until(lambda: serves(box, 1), "a boot brings back the former one")
    box.run("/bin/bash", served.store.layout.generation(2) / "activate")
    assert serves(box, 2)
    assert (boots(box), status(box)["returns_to"]) == ("2", None)
    assert box.systemctl("list-timers", "--all", "--no-legend", "pd-one-return.timer") == ""


def test_one_that_expires_while_the_machine_is_off_returns_at_boot(box: Box, served: Deployment) -> None:
    box.pdlaunch("up", served.profile, "--confirm", SHORT)
    box.shut_down()
    due = dt.datetime.fromisoformat(json.loads((served.store.layout.state / "unconfirmed.json").read_text())["until"])
    until(lambda: dt.datetime.now(dt.UTC) > due, "its time passes")
    box.boot()
    until(lambda: serves(box, 1), "generation 1 serves", seconds=60)
    until(lambda: not (served.store.layout.state / "unconfirmed.json").exists(), "the note is closed")
    assert serves(box, 1)


def test_it_returns_without_pdlaunch(box: Box, served: Deployment) -> None:
    box.pdlaunch("up", served.profile, "--confirm", SHORT)
    box.run("mount", "--bind", "/dev/null", PDLAUNCH)  # as if it were uninstalled, in this box
    current = served.store.layout.state / "current"
    until(lambda: current.read_text().strip() == "1", "the pointer is back", seconds=60)
    until(lambda: not (served.store.layout.state / "unconfirmed.json").exists(), "the note is closed")
    box.run("umount", PDLAUNCH)
    until(lambda: serves(box, 1), "generation 1 serves")


def test_one_that_does_not_come_up_returns_at_once(box: Box, served: Deployment) -> None:
    broken = served.env(PDLAUNCH_SIM_FAULT="crash:start")
    done = box.pdlaunch("up", broken.profile, "--confirm", LONG, check=False)
    assert done.returncode == 6
    assert "generation 1 serves again" in done.stderr
    assert serves(box, 1)
    assert status(box)["returns_to"] is None
    assert box.systemctl("list-unit-files", "--no-legend", "pd-one-return.*", check=False) == ""


def test_nothing_to_return_to_is_refused(box: Box, one: Deployment) -> None:
    done = box.pdlaunch("up", one.profile, "--confirm", LONG, check=False)
    assert done.returncode == 2
    assert "error: one has no former generation to return to" in done.stderr
    assert box.active() == set()


def test_down_and_another_up_end_the_waiting(box: Box, served: Deployment) -> None:
    box.pdlaunch("up", served.profile, "--confirm", LONG)
    box.pdlaunch("up", turn(served, "3").profile)
    assert (boots(box), status(box)["returns_to"]) == ("3", None)
    box.pdlaunch("up", turn(served, "4").profile, "--confirm", LONG)
    assert (boots(box), status(box)["returns_to"]) == ("3", 3)
    box.pdlaunch("down")
    assert box.systemctl("list-unit-files", "--no-legend", "pd-one-return.*", check=False) == ""
    box.reboot()
    assert box.active() == set()
