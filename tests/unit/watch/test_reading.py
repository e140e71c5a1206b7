"""What real servers and a real router said, recorded from SGLang 0.5.23 on CPU and sglang-router 0.3.2."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.watch.reading import counters, front, ranks

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> bytes:
    return (RECORDED / name).read_bytes()


def test_a_busy_decode_says_what_runs_and_what_waits() -> None:
    (rank,) = ranks(recorded("decode-busy.loads.json"))
    assert (rank.running, rank.waiting, rank.prealloc, rank.transfer) == (4, 0, 2, 0)
    assert (rank.own, rank.between, rank.requests) == (0, 2, 6)
    assert rank.steps == 2461


def test_a_busy_prefill_says_nothing_of_what_it_computes() -> None:
    (rank,) = ranks(recorded("prefill-busy.loads.json"))
    assert (rank.running, rank.bootstrap, rank.prefilled) == (0, 2, 13216)


def test_a_stopped_scheduler_is_told_by_a_time_that_stands_still() -> None:
    (first,), (second,) = (ranks(recorded(f"decode-{name}.loads.json")) for name in ("stopped", "stopped2"))
    assert (first.looked, first.steps) == (second.looked, second.steps)
    (first,), (second,) = (ranks(recorded(f"prefill-{name}.loads.json")) for name in ("stopped", "stopped2"))
    assert second.looked - first.looked > 5


def test_the_few_counters_are_found_among_a_thousand_lines() -> None:
    decode, prefill = (counters(recorded(f"{role}-busy.metrics.txt")) for role in ("decode", "prefill"))
    assert decode.decoded > 2000
    assert prefill.computed > 13_000
    assert prefill.transfers > 0
    assert prefill.moved_mb > 0
    assert decode.open == 6
    assert decode.whole.count == decode.finished
    assert decode.whole.sum > decode.first_token.sum > 0


def test_a_stopped_decode_goes_on_telling_its_last_counters() -> None:
    stopped = counters(recorded("decode-stopped.metrics.txt"))
    assert stopped.open == 6
    assert stopped.decoded >= counters(recorded("decode-busy.metrics.txt")).decoded


def test_a_router_says_how_it_sees_its_workers() -> None:
    seen = front(recorded("router-busy.metrics.txt"))
    assert [(w.url, w.circuit, w.healthy, w.active) for w in seen.workers] == [
        ("http://127.0.0.1:31410", 0, True, 6),
        ("http://127.0.0.1:31420", 0, True, 6),
    ]
    assert seen.served.count > 0


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"loads": 3}', b'{"loads": [3]}', b"<html>"])
def test_what_is_no_answer_has_no_ranks(body: bytes) -> None:
    assert ranks(body) == ()


@given(st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_whatever_else_stands_on_a_page_a_sample_is_found(page: bytes) -> None:
    sample = b'\n# TYPE sglang:num_requests_total counter\nsglang:num_requests_total{a="} 7"} 3.0\n'
    assert counters(page + sample).finished == 3.0
    assert front(page + sample).served.count == 0
