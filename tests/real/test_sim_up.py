"""A simulated pair behind the real sglang-router under the real supervisord: what the operator does in a day."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.request

import pytest

from launcher.cli.views import proposal
from launcher.errors import BusyError, PdlaunchError, ProbeFailedError, ReturnedError
from launcher.operations.events import silent
from launcher.operations.planning import propose
from launcher.operations.restart import restart
from launcher.operations.rollback import rollback

from ..deployments import Deployment, Told, until

pytestmark = pytest.mark.real


def ask(deployment: Deployment) -> dict[str, object]:
    """A chat completion through the router, as a client asks for it."""
    router = deployment.status.router
    assert router is not None
    body = {"model": deployment.name, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
    request = urllib.request.Request(
        f"{router.url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return dict(json.load(answer))


def changed(before: dict[str, int | None], after: dict[str, int | None]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def test_a_day_with_a_pair(pd: Deployment) -> None:
    done = pd.up(why="first")
    assert (done.generation, done.move.start) == (1, ("prefill-0", "decode-0", "router"))
    assert ask(pd)["choices"]

    seen = json.loads(pd.pdlaunch("status", "--json").stdout)
    settings = pd.settings
    assert (seen["deployment"], seen["state"], seen["generation"]) == ("pd", "ok", 1)
    assert seen["router"] == {"url": f"http://127.0.0.1:{settings['router']['port']}"}
    assert [(s["name"], s["role"], s["state"], s["gpus"]) for s in seen["services"]] == [
        ("prefill-0", "prefill", "ok", []),
        ("decode-0", "decode", "ok", []),
        ("router", "router", "ok", []),
    ]
    prefill = settings["prefill"]
    assert seen["services"][0]["ports"] == {
        "http": prefill["port"],
        "nccl": prefill["nccl_port"],
        "bootstrap": prefill["bootstrap_port"],
    }
    first = pd.pids
    assert None not in first.values()

    assert pd.up().arrived is None
    pd.comment = "# a comment moves every line\n\n"
    assert pd.up().arrived is None
    assert (pd.pids, pd.store.numbers()) == (first, (1,))

    pd.env("decode", PDLAUNCH_SIM_TOKEN_MS="1")
    done = pd.up(why="slower tokens")
    assert (done.generation, done.move.stop, done.move.keep) == (2, ("decode-0",), ("prefill-0", "router"))
    second = pd.pids
    assert changed(first, second) == {"decode-0"}
    assert ask(pd)["choices"]

    assert restart(pd.store, ("decode",), silent).generation == 2
    third = pd.pids
    assert changed(second, third) == {"decode-0"}

    assert rollback(pd.store, 1, silent, why="back").generation == 1
    assert changed(third, pd.pids) == {"decode-0"}
    assert pd.state == "ok"
    assert ask(pd)["choices"]

    rows = json.loads(pd.pdlaunch("history", "--json").stdout)["generations"]
    assert [(r["generation"], r["current"], r["why"], r["verdict"]) for r in rows] == [
        (2, False, "slower tokens", "served"),
        (1, True, "first", "serves"),
    ]

    stopped = pd.pdlaunch("down")
    assert stopped.returncode == 0
    assert stopped.stdout.startswith("down       pd: prefill-0, decode-0, router stopped; nothing is left.")
    pd.assert_nothing_left()
    assert pd.state == "stopped"


def fails(deployment: Deployment) -> PdlaunchError:
    """The error of an `up` that fails and leaves nothing."""
    with pytest.raises(PdlaunchError) as caught:
        deployment.up()
    deployment.assert_nothing_left()
    assert deployment.state == "failed"
    return caught.value


def test_a_taken_bootstrap_port_is_named_before_anything_starts(pd: Deployment) -> None:
    port = pd.settings["prefill"]["bootstrap_port"]
    with socket.create_server(("127.0.0.1", port)):
        error = fails(pd)
    assert error.message.startswith(f"port {port}, prefill-0's bootstrap port, is taken by pid {os.getpid()} (")
    assert pd.up().arrived is not None
    assert pd.state == "ok"


def test_when_one_server_dies_at_its_start_the_others_are_stopped_again(pd: Deployment) -> None:
    error = fails(pd.env("decode", PDLAUNCH_SIM_FAULT="crash:decode:start"))
    assert error.message.startswith("decode-0  died after 0:")
    assert "RuntimeError: simulated crash while loading" in error.message
    (last,) = [event.text for event in pd.told.events if event.subject == "up"]
    assert last.endswith("prefill-0, router stopped again. Running: nothing")


@pytest.mark.usefixtures("impatient")
def test_a_decode_that_gives_no_token_is_named_on_its_edge(pd: Deployment) -> None:
    error = fails(pd.env("decode", PDLAUNCH_SIM_FAULT="no-token"))
    assert error.message == "token  prefill-0 -> decode-0: decode-0 did not answer: timed out"


def test_tokens_are_proven_on_every_edge_and_then_through_the_router(pd: Deployment) -> None:
    prefill, decode = pd.settings["prefill"], pd.settings["decode"]
    pd.settings["prefill"] = {"replicas": [prefill, {}]}
    pd.settings["decode"] = {"replicas": [decode, {}]}
    pd.up()
    proofs = [event.text for event in pd.told.events if event.subject == "token"]
    assert [text.rpartition(", ")[2] for text in proofs] == [
        "prefill-0 -> decode-0",
        "prefill-0 -> decode-1",
        "prefill-1 -> decode-0",
        "prefill-1 -> decode-1",
        "through the router",
    ]
    assert ask(pd)["choices"]


def test_a_killed_decode_is_started_again_and_serves_with_the_old_prefill(pd: Deployment) -> None:
    pd.settings["router"]["args"] = {"health-check-interval-secs": 1, "disable-circuit-breaker": True}
    pd.up()
    before = pd.pids
    pid = before["decode-0"]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: pd.service("decode-0").restarts == 1)
    until(lambda: pd.state == "ok")
    assert changed(before, pd.pids) == {"decode-0"}
    assert ask(pd)["choices"]


@pytest.mark.usefixtures("impatient")
def test_a_hang_that_needs_context_passes_the_first_prompt_and_breaks_the_ladder(pd: Deployment) -> None:
    """The afternoon that this program exists for: short requests pass, and so does a token through the router."""
    pd.settings["engine"]["args"] = {"context-length": 65536, "chunked-prefill-size": 4096}
    pd.env("decode", SGLANG_SM120_MMA_TARGET_CTAS="512")
    done = pd.up()
    assert done.arrived is not None
    assert str(done.arrived.proven) == "proven to 8,193 of 65k tokens"
    assert (pd.state, pd.status.proven_tokens, pd.status.context_tokens) == ("ok", 8193, 65536)
    pd.settings["ready"] = {"within": "30s", "probe": "ladder:64k"}
    before = pd.pids
    with pytest.raises(ProbeFailedError) as caught:
        pd.up()
    assert caught.value.message.startswith("probe  ladder broke at 64k tokens: router ")
    assert caught.value.message.endswith("Proven to 32k")
    assert (pd.pids, pd.status.generation) == (before, 1)  # nothing was restarted for it, so nothing is stopped


def test_the_aggregated_twin_takes_the_place_and_gives_it_back(pd: Deployment, request: pytest.FixtureRequest) -> None:
    pd.up()
    twin = pd.another("twin", aggregated={"port": pd.settings["prefill"]["port"]})
    del twin.settings["prefill"], twin.settings["decode"]
    request.addfinalizer(twin.end)
    with pytest.raises(BusyError, match="held by pd"):
        twin.up()
    said = proposal(propose(twin.profile))
    assert "\nin the way\n  port-" in said
    assert " held by pd (root, since " in said
    assert said.endswith("); up --replace stops it")
    twin.up(replace=True)
    assert (twin.state, pd.state) == ("ok", "stopped")
    assert ask(twin)["choices"]
    pd.up(replace=True)
    assert (twin.state, pd.state) == ("stopped", "ok")
    assert ask(pd)["choices"]


def breaks(deployment: Deployment) -> None:
    """A change of the prefill's that does not come up, when the pair serves."""
    deployment.env("prefill", PDLAUNCH_SIM_FAULT="crash:prefill:start")
    with pytest.raises(PdlaunchError, match="prefill-0  died"):
        deployment.up(why="a try")


def test_a_failed_change_leaves_running_what_it_did_not_touch(pd: Deployment) -> None:
    pd.up()
    before = pd.pids
    breaks(pd)
    assert pd.pids == before | {"prefill-0": None}
    seen = pd.status
    assert (seen.state, seen.generation) == ("degraded", 1)
    assert [s.state for s in seen.services if s.name != "router"] == ["stopped", "ok"]
    assert seen.remark is not None
    assert seen.remark.startswith("`up` by root failed, the rest was left running: prefill-0 stopped")
    (last,) = [event.text for event in pd.told.events if event.subject == "up" and "failed" in event.text]
    assert last == ("failed; prefill-0 stopped. Running: decode-0, router, of generation 1, which this left alone")
    restart(pd.store, ("prefill-0",), Told())
    assert (pd.state, pd.store.current()) == ("ok", 1)
    assert {name for name, pid in pd.pids.items() if pid != before[name]} == {"prefill-0"}


def test_a_way_back_that_fails_starts_only_what_it_had_stopped(pd: Deployment) -> None:
    pd.up()
    breaks(pd)
    pd.env("prefill", PDLAUNCH_SIM_FAULT=None).up()
    before = pd.pids
    with pytest.raises(ReturnedError):
        rollback(pd.store, 2, Told())
    assert (pd.state, pd.store.current()) == ("ok", 1)
    assert {name for name, pid in pd.pids.items() if pid != before[name]} == {"prefill-0"}


def test_the_first_start_leaves_nothing_though_an_earlier_one_had_been_killed(pd: Deployment) -> None:
    begun = pd.env("prefill", PDLAUNCH_SIM_FAULT="load:600s").start_up()
    until(lambda: "decode-0" in pd.procs())
    begun.send(signal.SIGKILL)
    begun.wait()
    pd.env("prefill", PDLAUNCH_SIM_FAULT="crash:prefill:start")
    error = fails(pd)
    assert error.message.startswith("prefill-0  died")
