"""Tokens asked of simulated servers: edges that pass, halves that fail, caches that prove less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from launcher.observe.http import Endpoint
from launcher.probe import tokens
from launcher.probe.tokens import NEW_TOKENS, Server, ask, ask_edge, ask_edges
from launcher.simulator import testing
from launcher.simulator.testing import Simulated

Start = Callable[..., Simulated]


@pytest.fixture
def start(tmp_path: Path, free_port: Callable[[], int]) -> Iterator[Start]:
    """Start a simulated server; all are gone at the end of the test."""
    with ExitStack() as stack:

        def begin(mode: str, *args: str, bootstrap: int = 0, fault: str = "") -> Simulated:
            given = {"PDLAUNCH_SIM_FAULT": fault}
            ports = {"port": free_port(), "bootstrap_port": bootstrap or free_port()}
            return stack.enter_context(testing.start(tmp_path, mode, args, given, **ports)).wait_for()

        yield begin


def server(name: str, simulated: Simulated) -> Server:
    return Server(name, Endpoint("127.0.0.1", simulated.port), simulated.bootstrap_port)


def test_every_edge_gives_tokens(start: Start) -> None:
    prefills = [server(f"prefill-{n}", start("prefill")) for n in range(2)]
    decodes = [server(f"decode-{n}", start("decode")) for n in range(2)]
    proofs = ask_edges(prefills, decodes, 513, 20)
    assert [(p.path, p.prompt, p.failure, p.cached) for p in proofs] == [
        ("prefill-0 -> decode-0", 513, None, 0),
        ("prefill-0 -> decode-1", 513, None, 0),
        ("prefill-1 -> decode-0", 513, None, 0),
        ("prefill-1 -> decode-1", 513, None, 0),
    ]
    assert ask_edges([], decodes, 513, 20) == ()


def test_the_same_edge_again_meets_no_cache(start: Start) -> None:
    prefill, decode = server("prefill-0", start("prefill")), server("decode-0", start("decode"))
    assert [ask_edge(prefill, decode, 2000, 20).cached for _ in range(3)] == [0, 0, 0]


def test_tokens_that_a_cache_had_are_counted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "unseen", lambda n: list(range(100, 100 + n)))
    alone = server("aggregated-0", start("null"))
    assert ask(alone, "x", 2000, 20).cached == 0
    assert ask(alone, "x", 2000, 20).cached > 1000


def test_an_aggregated_server_is_asked_whole(start: Start) -> None:
    proof = ask(server("aggregated-0", start("null")), "through the router", 300, 20)
    assert (proof.path, proof.prompt, proof.failure, proof.cached) == ("through the router", 300, None, 0)


def test_a_decode_that_meets_the_wrong_prefill_is_named(start: Start) -> None:
    """The halves speak of a bootstrap server that belongs to another prefill: the room is never filled."""
    right, wrong = start("prefill"), start("prefill")
    decode = server("decode-0", start("decode", fault=""))
    crossed = Server("prefill-0", Endpoint("127.0.0.1", right.port), wrong.bootstrap_port)
    proof = ask_edge(crossed, decode, 513, 4)
    assert proof.failure is not None
    assert proof.failure.startswith(("prefill-0 ", "decode-0 "))


@pytest.mark.parametrize(
    ("role", "fault", "failure"),
    [
        ("decode", "reject:decode:503", "decode-0 answered 503: "),
        ("prefill", "reject:prefill:500", "prefill-0 answered 500: "),
    ],
)
def test_the_half_that_failed_first_is_named(start: Start, role: str, fault: str, failure: str) -> None:
    prefill = server("prefill-0", start("prefill", fault=fault))
    decode = server("decode-0", start("decode", fault=fault))
    proof = ask_edge(prefill, decode, 300, 1000)  # longer than the other half waits, and than a test may take
    assert proof.failure is not None
    assert proof.failure.startswith(failure), (role, proof.failure)


def test_a_half_that_hangs_is_named(start: Start) -> None:
    prefill, decode = server("prefill-0", start("prefill")), server("decode-0", start("decode", fault="no-token"))
    assert ask_edge(prefill, decode, 300, 2).failure == "decode-0 did not answer: timed out"


def test_a_server_that_is_not_there(start: Start, free_port: Callable[[], int]) -> None:
    nobody = Server("decode-0", Endpoint("127.0.0.1", free_port()))
    failure = ask(nobody, "decode-0", 10, 2).failure
    assert failure is not None
    assert failure.startswith("decode-0 did not answer: ")
    assert "refused" in failure


def test_a_prompt_that_the_context_does_not_hold(start: Start) -> None:
    failure = ask(server("aggregated-0", start("null", "--context-length", "100")), "x", 200, 10).failure
    assert failure is not None
    assert failure.startswith("aggregated-0 answered 400: ")


def test_the_answer_has_more_than_the_token_that_prefill_made() -> None:
    assert NEW_TOKENS > 1
