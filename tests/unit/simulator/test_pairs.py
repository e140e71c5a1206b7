"""Prefill and decode together, asked as the router asks them."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from launcher.simulator.testing import ask, events

from .conftest import Pair, Start, in_background, load, metric

PairOf = Callable[..., Pair]
TEXT = {"text": "The capital of France is", "sampling_params": {"max_new_tokens": 5}}
ROUTE = "/route?prefill_dp_rank=-1&prefill_cp_rank=-1&target_tp_rank=-1&target_pp_rank=-1"
SHORT = {"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "0.3", "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "0.3"}


def until(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
    assert condition()


def test_both_halves_answer_and_decode_has_the_tokens(pair: PairOf, start: Start) -> None:
    both = pair()
    prefill, decode = both.ask("/generate", TEXT)
    alone = start().ask("/generate", TEXT).json()
    assert prefill.json()["meta_info"]["completion_tokens"] == 1
    assert decode.json()["output_ids"] == alone["output_ids"]
    assert prefill.json()["output_ids"] == alone["output_ids"][:1]
    assert metric(both.decode, "kv_transfer_latency_ms_count") == 1
    assert metric(both.prefill, "realtime_tokens_total", mode="prefill_compute") == 7


def test_decode_reports_what_the_prefill_had_cached(pair: PairOf) -> None:
    both = pair()
    replies = [both.ask("/generate", TEXT)[1].json() for _ in range(2)]
    assert [reply["meta_info"]["cached_tokens"] for reply in replies] == [0, 6]


def test_streams_come_from_decode(pair: PairOf) -> None:
    both = pair()
    _, decode = both.ask("/v1/chat/completions", {"messages": [{"content": "hi"}], "max_tokens": 4, "stream": True})
    *_, done = events(decode)
    assert done == "[DONE]"


def test_twenty_at_once(pair: PairOf) -> None:
    both = pair()
    bodies = [both.body({**TEXT, "text": f"prompt {number}"}) for number in range(20)]
    waiting = [
        (in_background(both.prefill, "/generate", body), in_background(both.decode, "/generate", body))
        for body in bodies
    ]
    replies = [(prefill(), decode()) for prefill, decode in waiting]
    assert {reply.status for both_replies in replies for reply in both_replies} == {200}
    assert len({tuple(decode.json()["output_ids"]) for _, decode in replies}) == 20
    assert load(both.decode)["num_running_reqs"] == 0


def test_the_bootstrap_server_tells_whose_it_is(pair: PairOf) -> None:
    both = pair(prefill=("--tp-size", "4"))
    assert ask(both.prefill.bootstrap_port, "/health").body == b"OK"
    layout = ask(both.prefill.bootstrap_port, ROUTE).json()
    assert (layout["prefill_http_port"], layout["attn_tp_size"]) == (both.prefill.port, 4)
    assert layout["follow_bootstrap_room"] is True


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"text": "The capital of France is not"}, "7 tokens and 8 tokens"),
        ({"text": "The capital of Spain is"}, "digests"),
    ],
)
def test_halves_of_different_prompts_fail_and_say_so(pair: PairOf, other: dict[str, Any], said: str) -> None:
    both = pair()
    body = both.body(TEXT)
    prefill = in_background(both.prefill, "/generate", body)
    decode = both.decode.ask("/generate", {**body, **other})
    assert decode.status == prefill().status == 500
    assert "prefill and decode got different prompts" in decode.body.decode()
    assert said in decode.body.decode()
    assert f"bootstrap_room={body['bootstrap_room']}" in decode.body.decode()


def test_a_decode_half_without_its_prefill_times_out(pair: PairOf) -> None:
    both = pair(environment=SHORT)
    reply = both.decode.ask("/generate", both.body(TEXT))
    assert reply.status == 500
    assert "timed out after 0.3s in KVPoll.WaitingForInput" in reply.body.decode()
    assert metric(both.decode, "num_transfer_failed_reqs_total") == 1


def test_a_prefill_half_without_its_decode_times_out(pair: PairOf) -> None:
    both = pair(environment=SHORT)
    reply = both.prefill.ask("/generate", both.body(TEXT))
    assert reply.status == 500
    assert "Prefill bootstrap failed" in reply.body.decode()
    assert "timed out after 0.3s in KVPoll.Bootstrapping" in reply.body.decode()
    assert metric(both.prefill, "num_bootstrap_failed_reqs_total") == 1


def test_halves_wait_in_their_queues(pair: PairOf) -> None:
    both = pair()
    prefill = in_background(both.prefill, "/generate", body := both.body(TEXT))
    until(lambda: load(both.prefill)["disaggregation"]["prefill_bootstrap_queue_reqs"] == 1)
    assert metric(both.prefill, "num_prefill_bootstrap_queue_reqs") == 1
    assert both.decode.ask("/generate", body).status == prefill().status == 200
    waiting = in_background(both.decode, "/generate", body := both.body(TEXT))
    until(lambda: load(both.decode)["disaggregation"]["decode_transfer_queue_reqs"] == 1)
    assert both.prefill.ask("/generate", body).status == waiting().status == 200


def test_a_request_without_its_room_is_refused(pair: PairOf) -> None:
    both = pair()
    for server in (both.prefill, both.decode):
        reply = server.ask("/generate", TEXT)
        assert reply.status == 400
        assert "Disaggregated request received without bootstrap room id" in reply.body.decode()
        assert "is no port" in server.ask("/generate", {**both.body(TEXT), "bootstrap_port": 70000}).body.decode()
        fake = {**TEXT, "bootstrap_host": "2.2.2.2", "bootstrap_room": 0}
        assert server.ask("/generate", fake).status == 200


def test_two_requests_may_not_share_a_room(pair: PairOf) -> None:
    both = pair()
    body = both.body(TEXT)
    first = in_background(both.prefill, "/generate", body)
    until(lambda: load(both.prefill)["disaggregation"]["prefill_bootstrap_queue_reqs"] == 1)
    second = both.prefill.ask("/generate", body)
    assert second.status == 500
    assert "already taken by another request" in second.body.decode()
    assert both.decode.ask("/generate", body).status == first().status == 200


def test_a_prefill_that_nobody_can_reach_fails_after_heartbeats(pair: PairOf) -> None:
    quick = {"SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "0.05"}
    both = pair(environment=quick)
    both.ask("/generate", TEXT)
    decode = in_background(both.decode, "/generate", both.body(TEXT))
    until(lambda: load(both.decode)["disaggregation"]["decode_transfer_queue_reqs"] == 1)
    both.prefill.process.kill()
    reply = decode()
    assert reply.status == 500
    assert "Lost connection with prefill instance" in reply.body.decode()


def test_a_decode_that_starts_again_is_served_by_the_old_prefill(pair: PairOf, start: Start) -> None:
    both = pair()
    before = both.ask("/generate", TEXT)[1].json()
    both.decode.process.kill()
    both.decode.wait_end()
    both.decode = start("decode", port=both.decode.port, bootstrap_port=both.prefill.bootstrap_port)
    assert both.ask("/generate", TEXT)[1].json()["output_ids"] == before["output_ids"]


def test_a_prefill_that_starts_again_serves_the_old_decode(pair: PairOf, start: Start) -> None:
    both = pair()
    before = both.ask("/generate", TEXT)[1].json()
    both.prefill.process.kill()
    both.prefill.wait_end()
    both.prefill = start("prefill", port=both.prefill.port, bootstrap_port=both.prefill.bootstrap_port)
    assert both.ask("/generate", TEXT)[1].json()["output_ids"] == before["output_ids"]


def test_a_room_is_free_again_when_its_client_has_left(pair: PairOf) -> None:
    both = pair()
    body = both.body(TEXT)
    with pytest.raises(TimeoutError):
        both.prefill.ask("/generate", body, timeout=0.3)
    until(lambda: load(both.prefill)["disaggregation"]["prefill_bootstrap_queue_reqs"] == 0)
    prefill = in_background(both.prefill, "/generate", body)
    assert both.decode.ask("/generate", body).status == prefill().status == 200


@pytest.mark.parametrize(
    ("prefill", "said"),
    [
        (
            ("--page-size", "64"),
            "has page_size=64, but decode server has page_size=1.",
        ),
        (("--kv-cache-dtype", "fp8_e4m3"), "KV cache dtype mismatch"),
    ],
)
def test_a_decode_dies_of_another_layout(pair: PairOf, prefill: tuple[str, ...], said: str) -> None:
    both = pair(prefill=prefill, environment={"PDLAUNCH_SIM_LINGER_S": "0"})
    body = both.body(TEXT)
    in_background(both.prefill, "/generate", body)
    in_background(both.decode, "/generate", body)
    assert both.decode.wait_end() == -signal.SIGKILL
    assert said in both.decode.log
    assert "Traceback" in both.decode.log


def test_a_taken_bootstrap_port_is_logged_and_nothing_else(start: Start) -> None:
    server = start("prefill", bootstrap_port=start().port)
    assert "[Errno 98]" in server.log
    assert "address already in use" in server.log
    assert "Prefill register attempt 1/5 failed: status 404" in server.log
    assert "Prefill instance failed to register to bootstrap server after 5 retries" in server.log
    assert server.ask("/health").status == 200


def test_a_second_prefill_registers_at_the_first_without_a_word(start: Start) -> None:
    first = start("prefill")
    second = start("prefill", bootstrap_port=first.bootstrap_port)
    assert "address already in use" in second.log
    assert ask(first.bootstrap_port, ROUTE).json()["prefill_http_port"] == first.port
    body = {**TEXT, "bootstrap_host": "127.0.0.1", "bootstrap_port": first.bootstrap_port, "bootstrap_room": 5}
    decode = start("decode", bootstrap_port=first.bootstrap_port)
    stolen = in_background(second, "/generate", body)
    assert decode.ask("/generate", body).status == stolen().status == 200


def test_a_stopped_prefill_holds_its_halves_back(pair: PairOf) -> None:
    both = pair()
    os.kill(both.prefill.scheduler, signal.SIGSTOP)
    body = both.body(TEXT)
    halves = in_background(both.prefill, "/generate", body), in_background(both.decode, "/generate", body)
    until(lambda: load(both.decode)["disaggregation"]["decode_transfer_queue_reqs"] == 1)
    os.kill(both.prefill.scheduler, signal.SIGCONT)
    assert [half().status for half in halves] == [200, 200]
