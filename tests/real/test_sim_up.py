"""A simulated pair behind the real sglang-router under the real supervisord: what the operator does in a day."""

from __future__ import annotations

import json
import urllib.request

import pytest

from launcher.operations.events import silent
from launcher.operations.restart import restart
from launcher.operations.rollback import rollback

from ..deployments import Deployment

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
