"""Ctrl-C, SIGTERM and a lost terminal while `up` works: a running deployment that `status` knows, or nothing."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from launcher.operations.interrupts import Interrupted, interruptible
from launcher.store import writing

from ...deployments import PDLAUNCH, Deployment, until

pytestmark = pytest.mark.real


def serving(deployment: Deployment) -> bool:
    return "aggregated-0" in deployment.procs()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_start_leaves_nothing_and_says_so(agg: Deployment, number: signal.Signals) -> None:
    agg.env(PDLAUNCH_SIM_FAULT="load:600s")
    process = agg.start_up("-m", "a try")
    until(lambda: serving(agg))
    process.send(number)
    assert (process.wait(), process.out) == (130, "")
    told, last = process.err.splitlines()[-2:]
    assert told.endswith("up         interrupted; aggregated-0 stopped again. Running: nothing")
    assert last == "interrupted"
    agg.assert_nothing_left()
    seen = agg.status
    assert (seen.state, seen.remark) == ("failed", "`up` interrupted: a try")
    agg.env(PDLAUNCH_SIM_FAULT=None).up()
    assert agg.state == "ok"


def test_a_second_signal_does_not_stop_the_cleaning_up(agg: Deployment) -> None:
    # TERM is ignored, so that cleaning up takes a few seconds.
    agg.env(PDLAUNCH_SIM_FAULT="no-token,ignore-term")
    process = agg.start_up()
    until(lambda: agg.store.layout.log("aggregated-0").exists() and "fired up" in agg.log("aggregated-0"))
    process.send(signal.SIGINT)
    until(lambda: "SIGTERM ignored" in agg.log("aggregated-0"))
    process.send(signal.SIGINT)
    process.send(signal.SIGTERM)
    assert process.wait() == 130
    agg.assert_nothing_left()


def test_a_hang_up_does_not_end_a_start(agg: Deployment) -> None:
    process = agg.start_up(*("-m", "from a train"))
    until(lambda: writing(agg.store.layout))
    process.send(signal.SIGHUP)
    assert process.wait() == 0
    assert (agg.state, agg.status.why) == ("ok", "from a train")


def test_a_terminal_that_goes_away_does_not_end_a_start(agg: Deployment) -> None:
    master, slave = os.openpty()

    command = ["setsid", "--ctty", PDLAUNCH, "up", str(agg.profile)]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    until(lambda: serving(agg))
    os.close(master)
    process.wait(60)
    assert (agg.state, agg.store.current()) == ("ok", 1)


def test_a_hang_up_is_ignored_and_signals_are_given_back_to_who_had_them() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(n) for n in numbers]
    with pytest.raises(Interrupted):
        hang_up_and_term()
    assert [signal.getsignal(n) for n in numbers] == before


def hang_up_and_term() -> None:
    with interruptible():
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
