"""The faults of PDLAUNCH_SIM_FAULT, as those who watch a deployment meet them."""

import signal
from collections.abc import Callable

import pytest

from launcher.simulator.testing import events

from .conftest import Pair, Start, in_background, load, metric
from .test_endpoints import await_load

PairOf = Callable[..., Pair]
BODY = {"text": "hi", "sampling_params": {"max_new_tokens": 3}}
NO_LINGER = {"PDLAUNCH_SIM_LINGER_S": "0"}


def prompt(tokens: int, new: int = 3) -> dict[str, object]:
    return {"input_ids": [token % 1000 for token in range(tokens)], "sampling_params": {"max_new_tokens": new}}


@pytest.mark.parametrize(
    "given",
    [{"environment": {"SGLANG_SM120_MMA_TARGET_CTAS": "512"}}, {"fault": "hang:decode:48k"}],
    ids=["the variable of the field", "the fault"],
)
def test_noon_long_contexts_hang_in_decode_while_short_ones_and_health_pass(
    pair: PairOf, given: dict[str, object]
) -> None:
    both = pair(**given)
    body = both.body(prompt(48_000))
    prefill = in_background(both.prefill, "/generate", body)
    in_background(both.decode, "/generate", body)
    assert prefill().status == 200
    await_load(both.decode, {"num_running_reqs": 1, "num_used_tokens": 48_000})
    assert both.ask("/generate", prompt(47_900))[1].status == 200
    assert both.decode.ask("/health").status == 200
    assert load(both.decode)["num_running_reqs"] == 1
    both.decode.process.terminate()
    both.decode.wait_for("Gracefully exiting... Remaining number of requests 1.")
    assert both.decode.process.poll() is None


def test_a_context_may_grow_into_a_hang(start: Start) -> None:
    server = start(fault="hang:50")
    reply = in_background(server, "/generate", prompt(47, new=10))
    await_load(server, {"num_used_tokens": 50})
    assert server.ask("/generate", prompt(47, new=3)).status == 200
    assert load(server)["num_running_reqs"] == 1
    server.process.kill()
    with pytest.raises(ConnectionError):
        reply()


def test_a_client_that_gives_up_does_not_free_a_hung_request(start: Start) -> None:
    server = start(fault="hang:50")
    with pytest.raises(TimeoutError):
        server.ask("/generate", prompt(60), timeout=0.3)
    assert server.ask("/generate", BODY).status == 200
    assert load(server)["num_running_reqs"] == 1


def test_a_hang_without_a_context_takes_health_along(start: Start) -> None:
    server = start(fault="hang:after=1", environment={"SGLANG_HEALTH_CHECK_TIMEOUT": "0.2"})
    assert server.ask("/generate", BODY).status == 200
    assert server.ask("/health").status == 200
    in_background(server, "/generate", BODY)
    server.wait_for("simulated hang: the scheduler stands still")
    assert server.ask("/health").status == 503
    assert load(server)["num_running_reqs"] == 1


def test_silence_without_a_token_leaves_health_alone(start: Start) -> None:
    server = start(fault="no-token:after=1")
    assert server.ask("/generate", BODY).status == 200
    in_background(server, "/generate", BODY)
    await_load(server, {"num_running_reqs": 1})
    before = metric(server, "realtime_tokens_total", mode="decode")
    assert server.ask("/health").status == 200
    assert (before, metric(server, "realtime_tokens_total", mode="decode")) == (3, 3)


def test_a_frozen_transfer_shows_in_both_queues_until_it_times_out(pair: PairOf) -> None:
    both = pair(fault="frozen-transfer", environment={"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "2"})
    body = both.body(BODY)
    halves = in_background(both.prefill, "/generate", body), in_background(both.decode, "/generate", body)
    await_load(both.prefill, {"num_waiting_reqs": 1})
    for server, queue in ((both.prefill, "prefill_inflight_queue_reqs"), (both.decode, "decode_transfer_queue_reqs")):
        while load(server)["disaggregation"][queue] != 1:
            assert load(server)["num_waiting_reqs"] == 1
    prefill, decode = (half() for half in halves)
    assert "KVPoll.WaitingForInput" in decode.body.decode()
    assert "Prefill transfer failed" in prefill.body.decode()


def test_frozen_on_the_decode_alone_holds_the_prefill_too(start: Start) -> None:
    prefill = start("prefill")
    decode = start("decode", bootstrap_port=prefill.bootstrap_port, fault="frozen-transfer")
    body = Pair(prefill, decode).body(BODY)
    for server in (prefill, decode):
        in_background(server, "/generate", body)
    while load(prefill)["disaggregation"]["prefill_inflight_queue_reqs"] != 1:
        assert load(prefill)["num_running_reqs"] in (0, 1)
    # The decode tells of its queue a moment later; that it never does ends in the test's own time limit.
    while load(decode)["disaggregation"]["decode_transfer_queue_reqs"] != 1:
        assert load(prefill)["disaggregation"]["prefill_inflight_queue_reqs"] == 1


def test_slowness_of_a_prefill_is_per_uncached_token(start: Start) -> None:
    server = start(fault="slow:20ms/token")
    reply = in_background(server, "/generate", prompt(50, new=1))
    await_load(server, {"num_running_reqs": 1, "num_used_tokens": 50})
    assert reply().status == 200


def test_a_crash_comes_with_its_traceback(start: Start) -> None:
    server = start(fault="crash:after=2", environment=NO_LINGER)
    assert [server.ask("/generate", BODY).status for _ in range(2)] == [200, 200]
    in_background(server, "/generate", BODY)
    assert server.wait_end() == -signal.SIGKILL
    assert "Scheduler hit an exception: Traceback (most recent call last):" in server.log
    assert "RuntimeError: simulated crash at request 3" in server.log
    assert "crashed with exit code 1." in server.log


@pytest.mark.parametrize("fault", ["crash:after=10ms", "crash:aggregated:after=10ms"])
def test_a_crash_after_a_time(start: Start, fault: str) -> None:
    assert start(fault=fault, environment=NO_LINGER, wait="crashed with exit code 1.").wait_end() == -signal.SIGKILL


def test_a_crash_at_a_context(start: Start) -> None:
    server = start(fault="crash:100", environment=NO_LINGER)
    assert server.ask("/generate", prompt(90)).status == 200
    in_background(server, "/generate", prompt(98))
    assert server.wait_end() == -signal.SIGKILL
    assert "simulated crash at a context of 100 tokens" in server.log


def test_a_crash_while_loading(start: Start) -> None:
    server = start(fault="crash:start", wait="")
    assert server.wait_end() == 1
    assert "RuntimeError: simulated crash while loading" in server.log
    assert "Rank 0 scheduler died during initialization (exit code: 1)" in server.log
    assert "Uvicorn running" not in server.log


def test_leaving_by_itself_with_success(start: Start) -> None:
    server = start(fault="exit0:after=10ms")
    assert server.wait_end() == 0
    assert "SIGTERM" not in server.log


@pytest.mark.parametrize("path", ["/generate", "/v1/chat/completions", "/v1/completions"])
def test_rejections(start: Start, path: str) -> None:
    server = start(fault="reject:503:after=1")
    body = {**BODY, "prompt": "hi", "messages": [{"role": "user", "content": "hi"}]}
    replies = [server.ask(path, body) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 503]
    assert "simulated rejection" in replies[1].body.decode()
    assert server.ask("/health").status == 200


def test_a_status_that_has_no_name_is_sent_too(start: Start) -> None:
    assert start(fault="reject:499").ask("/generate", BODY).status == 499


def test_a_fault_of_another_role_does_not_hold(pair: PairOf) -> None:
    both = pair(fault="reject:prefill:500,hang:aggregated")
    body = both.body(BODY)
    in_background(both.decode, "/generate", body)
    assert both.prefill.ask("/generate", body).status == 500
    assert both.decode.ask("/health").status == 200


def test_a_server_may_ignore_term(start: Start) -> None:
    server = start(fault="ignore-term")
    server.process.terminate()
    server.wait_for("SIGTERM ignored")
    assert server.ask("/generate", BODY).status == 200


def test_loading_takes_its_time_and_no_port_is_open_before(start: Start) -> None:
    server = start(fault="load:600s", wait="Load weight begin")
    with pytest.raises(ConnectionRefusedError):
        server.ask("/health")
    server.process.terminate()
    assert server.wait_end() == -signal.SIGTERM


def test_a_failure_in_the_middle_of_a_stream_is_an_event(pair: PairOf) -> None:
    both = pair(fault="hang:decode:20")
    body = both.body({**prompt(10, new=30), "rid": "mine", "stream": True})
    in_background(both.prefill, "/generate", body)
    reply = in_background(both.decode, "/generate", body)
    await_load(both.decode, {"num_used_tokens": 20})
    both.decode.process.kill()
    with pytest.raises(Exception, match=r"IncompleteRead|reset") as broken:
        list(events(reply()))
    assert broken.type.__name__ in ("IncompleteRead", "ConnectionResetError")
