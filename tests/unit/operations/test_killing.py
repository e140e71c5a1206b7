"""SIGKILL to pdlaunch, to supervisord, to a server: `status` tells it, the next command repairs it."""

from __future__ import annotations

import os
import signal
from functools import partial

import pytest

from launcher.errors import PdlaunchError
from launcher.operations.down import down
from launcher.operations.restart import restart

from ...deployments import Deployment, Told, until

pytestmark = pytest.mark.real


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
