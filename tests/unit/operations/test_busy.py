"""Who comes second: another command on the same deployment, another deployment on the same ports."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from launcher.errors import BusyError
from launcher.operations.down import down
from launcher.operations.restart import restart
from launcher.operations.rollback import rollback, way_back
from launcher.store import holders, resources, writing

from ...deployments import Deployment, Told, until

pytestmark = pytest.mark.real


def test_two_at_once_the_second_learns_who_is_at_it(agg: Deployment) -> None:
    agg.up()
    first = agg.env(PDLAUNCH_SIM_FAULT="load:4s").start_up("-m", "first")
    until(agg.store.pending)
    seen = agg.status
    assert (seen.state, seen.generation) == ("changing", 2)
    assert seen.remark is not None
    assert seen.remark.startswith("root is running `up` since ")
    second = agg.pdlaunch("up", str(agg.profile))
    assert (second.returncode, second.stdout) == (4, "")
    error, hint = second.stderr.splitlines()[-2:]
    assert error.startswith("error: busy: root is running `up` since ")
    assert error.endswith(f"(pid {first.pid}): first")
    assert hint == f"hint: wait until it is done (pdlaunch status -d agg), or end it: kill {first.pid}"
    for command in (lambda: down(agg.store, Told()), lambda: restart(agg.store, (), Told())):
        with pytest.raises(BusyError):
            command()
    assert first.wait() == 0
    assert (agg.state, agg.store.numbers()) == ("ok", (1, 2))


def test_the_way_back_does_not_wait_for_the_way_forward(agg: Deployment) -> None:
    agg.up()
    first = agg.env(PDLAUNCH_SIM_FAULT="load:20s").start_up("-m", "will not come")
    until(agg.store.pending)
    told = Told()
    back = rollback(agg.store, 1, told)
    assert back.generation == 1
    assert "`up`" in told.text
    assert "it is told to stop" in told.text
    assert first.wait() == 130
    assert (agg.state, agg.store.current()) == ("ok", 1)


def test_the_plan_of_a_way_back_is_from_what_the_ended_up_leaves(agg: Deployment) -> None:
    agg.up()
    agg.env(PDLAUNCH_SIM_FAULT="load:60s").start_up("-m", "long")
    until(lambda: (pending := agg.store.pending()) and pending.step == "starting" and "aggregated-0" in agg.procs())
    way = way_back(agg.store, 2)  # where its server is on its way already, and will be stopped with the `up`
    assert (way.move.start, way.move.keep) == (("aggregated-0",), ())
    assert way.ends is not None
    assert way.ends.why == "long"
    said = agg.pdlaunch("rollback", "--to", "1", "--dry-run")
    assert "\n  ends first  root is running `up` since " in said.stdout
    assert (agg.state, agg.store.current()) == ("changing", 1)


def test_another_deployment_on_the_same_ports_learns_whose_they_are(agg: Deployment) -> None:
    agg.up(why="the first")
    other = agg.another("other")
    refused = other.pdlaunch("up", str(other.profile))
    port, nccl = agg.settings["aggregated"]["port"], agg.settings["aggregated"]["nccl_port"]
    assert (refused.returncode, refused.stdout) == (4, "")
    error, hint = refused.stderr.splitlines()[-2:]
    assert error.startswith(f"error: busy: port-{port}, port-{nccl} held by agg (root, since ")
    assert error.endswith(": the first)")
    assert hint == "hint: free them with `pdlaunch down -d agg`, or switch: pdlaunch up --replace"
    assert (agg.state, other.store.numbers()) == ("ok", ())
    assert {hold.deployment for hold in holders().values()} == {"agg"}


def test_replace_stops_the_holder_and_takes_its_place(agg: Deployment, request: pytest.FixtureRequest) -> None:
    agg.up()
    other = agg.another("other")
    request.addfinalizer(other.end)
    other.up(replace=True, why="A/B")
    agg.assert_nothing_left()
    seen = agg.status
    assert (seen.state, seen.remark) == ("stopped", "stopped by root: A/B")
    assert (other.state, other.told.text.splitlines()[1]) == ("ok", "replacing  agg")
    assert set(holders()) == set(resources(other.store.generation(1).plan))
    agg.up(replace=True)
    assert (agg.state, other.state) == ("ok", "stopped")
    other.assert_nothing_left()


def test_what_was_claimed_for_a_start_that_failed_is_given_back(agg: Deployment, free_port: Callable[[], int]) -> None:
    agg.up()
    held = set(holders())
    before = agg.settings["aggregated"]
    agg.settings["aggregated"] = {"port": free_port(), "nccl_port": free_port()}
    agg.settings["engine"]["user"] = "nobody-of-this-name"
    assert agg.pdlaunch("up", str(agg.profile)).returncode == 2
    assert set(holders()) == held
    del agg.settings["engine"]["user"]
    agg.up()
    assert set(holders()) == set(resources(agg.store.generation(2).plan))
    assert not held & {f"port-{port}" for port in agg.settings["aggregated"].values()}
    agg.settings["aggregated"] = before
    agg.up()
    assert set(holders()) == held


def test_a_killed_command_blocks_nobody(agg: Deployment) -> None:
    process = agg.env(PDLAUNCH_SIM_FAULT="load:600s").start_up()
    until(agg.store.pending)
    process.send(signal.SIGKILL)
    process.wait()
    assert writing(agg.store.layout) is None
    agg.env(PDLAUNCH_SIM_FAULT=None).up()
    assert agg.state == "ok"
