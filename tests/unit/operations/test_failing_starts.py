"""Starts that fail: one clear message, nothing left running, the truth from `status`, and a next `up` that works."""

from __future__ import annotations

import os
import socket

import pytest

from launcher.errors import PdlaunchError, ProbeFailedError
from launcher.operations.driving import backend_of
from launcher.operations.loading import StartFailedError
from launcher.store import Store

from ...deployments import Deployment

pytestmark = pytest.mark.real


def fails(deployment: Deployment) -> PdlaunchError:
    """The error of an `up` that fails; what has to be true afterwards is checked here, for every kind of failure."""
    with pytest.raises(PdlaunchError) as caught:
        deployment.up(why="a try")
    assert caught.value.exit_code in (1, 5)
    deployment.assert_nothing_left()
    seen = deployment.status
    assert (seen.state, {s.state for s in seen.services}) == ("failed", {"stopped"})
    assert deployment.store.pending() is None
    assert "Running: nothing" in deployment.told.text
    return caught.value


def comes_up_without_fault(deployment: Deployment) -> None:
    deployment.env(PDLAUNCH_SIM_FAULT=None)
    assert deployment.up().arrived is not None
    assert deployment.state == "ok"


def test_a_crash_is_told_with_its_error_while_the_crashed_server_lingers(agg: Deployment) -> None:
    # Waiting for the crashed server's end would take longer than a test may.
    agg.env(PDLAUNCH_SIM_FAULT="crash:400", PDLAUNCH_SIM_LINGER_S="600").settings["ready"] = {"within": "20m"}
    error = fails(agg)
    assert isinstance(error, StartFailedError)
    assert error.service == "aggregated-0"
    assert "died after 0:" in error.message
    assert "RuntimeError: simulated crash at a context of 513 tokens" in error.message
    number = int(error.message.partition("log line ")[2].split()[0])
    assert agg.log("aggregated-0").splitlines()[number - 1].strip() in error.message
    assert error.hint == "pdlaunch logs aggregated-0"
    comes_up_without_fault(agg)


def test_a_server_that_ends_while_it_loads(agg: Deployment) -> None:
    error = fails(agg.env(PDLAUNCH_SIM_FAULT="crash:start"))
    assert "aggregated-0  died after 0:" in error.message
    assert "RuntimeError: " in error.message
    comes_up_without_fault(agg)


def test_what_died_is_wanted_no_longer(agg: Deployment) -> None:
    fails(agg.env(PDLAUNCH_SIM_FAULT="crash:start"))
    units = backend_of(agg.store.generation(1).plan, agg.store.layout).units()
    assert [(unit.name, unit.wanted) for unit in units.values()] == [("aggregated-0", False)]


def test_a_server_that_leaves_with_0_by_itself_has_failed(agg: Deployment) -> None:
    error = fails(agg.env(PDLAUNCH_SIM_FAULT="slow:20s,exit0:after=200ms"))
    assert "exited with 0 by itself, which a server never should" in error.message
    comes_up_without_fault(agg)


def test_a_server_that_hangs_while_it_loads_is_given_up_at_the_limit(agg: Deployment) -> None:
    agg.settings["ready"] = {"within": "2s"}
    error = fails(agg.env(PDLAUNCH_SIM_FAULT="load:600s"))
    assert "aggregated-0  not ready after 2 s, still at: " in error.message
    assert error.hint is not None
    assert "ready: {within: " in error.hint
    agg.settings["ready"] = {"within": "30s"}
    comes_up_without_fault(agg)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", ["no-token", "hang"])
def test_a_server_that_calls_itself_ready_but_gives_no_token(agg: Deployment, fault: str) -> None:
    error = fails(agg.env(PDLAUNCH_SIM_FAULT=fault))
    assert error.message == "token  aggregated-0: aggregated-0 did not answer: timed out"
    comes_up_without_fault(agg)


def test_a_server_that_refuses_the_first_prompt(agg: Deployment) -> None:
    error = fails(agg.env(PDLAUNCH_SIM_FAULT="reject:500"))
    assert error.message.startswith("token  aggregated-0: aggregated-0 answered 500")


@pytest.mark.usefixtures("impatient")
def test_a_ladder_that_breaks_says_how_far_it_is_proven(agg: Deployment) -> None:
    agg.settings["ready"] = {"within": "30s", "probe": "ladder:8k"}
    error = fails(agg.env(PDLAUNCH_SIM_FAULT="no-token:3000"))
    assert isinstance(error, ProbeFailedError)
    assert error.message.startswith("probe  ladder broke at 4,000 tokens: aggregated-0 did not answer")
    assert error.message.endswith("Proven to 1,000")


def test_what_the_engine_refuses_is_told_in_its_words(agg: Deployment) -> None:
    error = fails(agg.env(PDLAUNCH_SIM_FAULT="no-such-fault"))
    assert "aggregated-0  died after 0:" in error.message
    assert "simulator: error: unknown fault 'no-such-fault'" in error.message


@pytest.mark.parametrize("use", ["port", "nccl_port"])
def test_a_taken_port_is_named_with_its_holder_before_anything_starts(agg: Deployment, use: str) -> None:
    port = agg.settings["aggregated"][use]
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(PdlaunchError) as caught:
            agg.up()
        name = {"port": "http", "nccl_port": "nccl"}[use]
        taken = f"port {port}, aggregated-0's {name} port, is taken by pid {os.getpid()} "
        assert caught.value.message.startswith(taken)
        agg.assert_nothing_left()
        assert agg.state == "failed"
        assert "nothing was stopped or started" in agg.told.text
    comes_up_without_fault(agg)


def test_a_taken_port_leaves_alone_what_serves(agg: Deployment) -> None:
    agg.up()
    before = agg.pids
    port = agg.settings["aggregated"]["port"]
    with socket.create_server(("127.0.0.1", 0)) as other:
        agg.settings["aggregated"]["port"] = other.getsockname()[1]
        with pytest.raises(PdlaunchError, match="is taken by"):
            agg.up()
    assert (agg.state, agg.pids, agg.status.generation) == ("ok", before, 1)
    agg.settings["aggregated"]["port"] = port
    assert agg.up().arrived is None


def test_what_was_recorded_and_never_begun_is_no_failure(agg: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise PdlaunchError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "begin", no_room)
        with pytest.raises(PdlaunchError):
            agg.up()
    seen = agg.status
    assert (seen.state, seen.generation, seen.remark) == ("stopped", 1, "recorded, but never started")
    assert seen.next == "pdlaunch up PROFILE"
    agg.up()
    assert (agg.state, agg.store.numbers()) == ("ok", (1,))
