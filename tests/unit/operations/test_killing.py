"""SIGKILL at any moment, to pdlaunch, to supervisord, to a server: `status` tells it, the next command repairs it."""

from __future__ import annotations

import os
import random
import signal
import sys
from functools import partial

import pytest

from launcher.errors import PdlaunchError
from launcher.operations.down import down
from launcher.operations.restart import restart
from launcher.store import holders, resources

from ...deployments import Deployment, Told, until

pytestmark = pytest.mark.real


CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.chmod", "subprocess.Popen", "socket.connect", "os.kill"})
"""Audit events of what changes something outside the process; opening a file for writing is one more."""


def _changes(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "open":
        flags = arguments[2]
        return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in CHANGES


def up_in_a_child(deployment: Deployment, last: int) -> tuple[int, int]:
    """Run `up` in a fork that kills itself before its change number `last`; changes counted, wait status."""
    deployment.profile  # noqa: B018  written before the fork
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # must never return into pytest
        os.close(read)
        seen = 0

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            if _changes(event, arguments):
                seen += 1
                if seen == last:
                    os.kill(os.getpid(), signal.SIGKILL)

        status = 1
        try:
            sys.addaudithook(count)
            deployment.up(why="to be killed")
            os.write(write, str(seen).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    _, status = os.waitpid(child, 0)
    counted = os.read(read, 20)
    os.close(read)
    return int(counted or 0), status


def repairs(deployment: Deployment) -> None:
    """What `status` says is what runs, and the next `up` ends with a deployment that serves, once."""
    seen = deployment.status
    assert {s.name for s in seen.services if s.pid} == deployment.procs().keys() - {"supervisord"}
    assert seen.state in ("empty", "interrupted", "failed", "ok", "degraded", "stopped")
    if deployment.store.pending():
        assert seen.state == "interrupted"
        assert seen.next is not None
    deployment.up(why="again")
    assert deployment.state == "ok"
    assert deployment.store.pending() is None
    current = deployment.store.current()
    assert current is not None
    plan = deployment.store.generation(current).plan
    assert deployment.procs().keys() == {"supervisord", *(s.name for s in plan.services)}
    assert set(holders()) == set(resources(plan))
    assert deployment.store.verify(current) == []


def test_up_killed_at_random_moments(agg: Deployment) -> None:
    """First starts, changes and restarts of what runs: eight moments, other ones on each run."""
    seed = random.randrange(1 << 32)
    source = random.Random(seed)
    print(f"seed {seed}")  # noqa: T201  shown where the test fails
    total, status = up_in_a_child(agg, last=0)
    assert (total > 30, status) == (True, 0)
    for n in range(8):
        down_first = n % 2 == 0
        if down_first:
            down(agg.store, Told(), drain=False)
        agg.env(PDLAUNCH_SIM_TOKEN_MS=str(n % 3))
        _, status = up_in_a_child(agg, last=source.randrange(1, total + 1))
        assert status in (0, signal.SIGKILL)
        repairs(agg)


def test_a_start_whose_command_was_killed_is_told_and_continued(agg: Deployment) -> None:
    begun = agg.env(PDLAUNCH_SIM_FAULT="load:3s").start_up("-m", "long one")
    until(lambda: "aggregated-0" in agg.procs())
    begun.send(signal.SIGKILL)
    begun.wait()
    seen = agg.status
    assert (seen.state, seen.generation) == ("interrupted", 1)
    assert seen.remark == "`up` by root was interrupted at: starting; what is listed runs"
    assert seen.next == "pdlaunch up PROFILE continues; pdlaunch down -d agg ends everything"
    server = until(lambda: agg.pids["aggregated-0"])
    done = agg.up()
    assert (done.generation, agg.state) == (1, "ok")
    assert agg.pids["aggregated-0"] == server


def test_down_ends_what_a_killed_command_left(agg: Deployment) -> None:
    begun = agg.env(PDLAUNCH_SIM_FAULT="load:600s").start_up()
    until(lambda: "aggregated-0" in agg.procs())
    begun.send(signal.SIGKILL)
    begun.wait()
    assert down(agg.store, Told()).stopped == ("aggregated-0",)
    agg.assert_nothing_left()
    assert agg.state == "stopped"


def kill_supervisord(deployment: Deployment) -> None:
    daemon = deployment.procs()["supervisord"][0]
    os.kill(daemon.pid, signal.SIGKILL)
    until(lambda: not daemon.alive())


def test_without_its_supervisor_it_serves_on_unsupervised_and_up_repairs(agg: Deployment) -> None:
    agg.up()
    kill_supervisord(agg)
    seen = agg.status
    assert (seen.state, [s.state for s in seen.services]) == ("degraded", ["unsupervised"])
    assert seen.remark == "aggregated-0 unsupervised: nobody restarts or stops it"
    assert seen.next == "pdlaunch restart -d agg"
    done = agg.up()
    assert done.move.stop == done.move.start == ("aggregated-0",)
    assert agg.state == "ok"


def test_restart_repairs_too_and_down_ends_orphans(agg: Deployment) -> None:
    agg.up()
    kill_supervisord(agg)
    restart(agg.store, (), Told())
    assert agg.state == "ok"
    kill_supervisord(agg)
    assert down(agg.store, Told()).stopped == ("aggregated-0",)
    agg.assert_nothing_left()


def kill_server(deployment: Deployment) -> None:
    pid = deployment.pids["aggregated-0"]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def restarted(deployment: Deployment, times: int) -> bool:
    return deployment.service("aggregated-0").restarts == times


def test_a_killed_server_is_started_again_a_bounded_number_of_times(agg: Deployment) -> None:
    agg.up()
    for times in (1, 2):
        kill_server(agg)
        until(partial(restarted, agg, times))
        until(lambda: agg.state == "ok")
    kill_server(agg)
    until(lambda: "left as it is" in agg.log("restarts"))
    seen = agg.status
    assert (seen.state, [s.state for s in seen.services]) == ("failed", ["failed"])
    assert seen.remark == "aggregated-0 ended by itself, or the machine was restarted"
    agg.up()
    assert (agg.state, restarted(agg, 0)) == ("ok", True)


def test_a_scheduler_that_is_killed_under_its_parent_is_seen(agg: Deployment) -> None:
    agg.env(PDLAUNCH_SIM_LINGER_S="600").up()
    main, *children = agg.procs()["aggregated-0"]
    assert children
    os.kill(children[0].pid, signal.SIGKILL)
    until(lambda: agg.service("aggregated-0").state == "silent")
    assert (main.alive(), agg.state) == (True, "degraded")
    with pytest.raises(PdlaunchError) as caught:
        agg.up()
    assert caught.value.message == "all runs as planned, but aggregated-0 does not answer"
    assert caught.value.hint == "pdlaunch logs aggregated-0, then pdlaunch restart aggregated-0"
    assert main.alive()
    restart(agg.store, ("aggregated-0",), Told())
    assert (agg.state, main.alive()) == ("ok", False)
