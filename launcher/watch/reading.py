"""Turns what servers and router say into numbers: only the few lines that are needed, since a page has a thousand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from launcher.watch.sample import Counters, Rank, Spread, Worker

_TOKENS = (b'endpoint="/generate"', b'endpoint="/v1/')


def ranks(body: bytes) -> tuple[Rank, ...]:
    """The answer of ``/v1/loads``; empty where it is none."""
    try:
        said = json.loads(body)
    except ValueError:
        return ()
    lines = said.get("loads") if isinstance(said, dict) else None
    return tuple(_rank(line) for line in lines if isinstance(line, dict)) if isinstance(lines, list) else ()


def _rank(line: dict[str, Any]) -> Rank:
    between, queues = line.get("disaggregation") or {}, line.get("queues") or {}
    moments = line.get("decode_moments") or [0.0]
    parts = {
        "bootstrap": _whole(between, "prefill_bootstrap_queue_reqs"),
        "prealloc": _whole(between, "decode_prealloc_queue_reqs"),
        "transfer": _whole(between, "decode_transfer_queue_reqs"),
        "retracted": _whole(between, "decode_retracted_queue_reqs"),
    }
    # num_waiting_reqs holds all of these but not what is in flight (load_inquirer.py of 0.5.23).
    waiting = _whole(queues, "waiting") if queues else _whole(line, "num_waiting_reqs") - sum(parts.values())
    return Rank(
        rank=_whole(line, "dp_rank"),
        looked=float(line.get("timestamp") or 0.0),
        running=_whole(line, "num_running_reqs"),
        waiting=max(0, waiting),
        inflight=_whole(between, "prefill_inflight_queue_reqs"),
        used_tokens=_whole(line, "num_used_tokens"),
        capacity_tokens=_whole(line, "max_total_num_tokens"),
        steps=float(moments[0]),
        prefilled=_whole(line, "total_prefill_uncached_tokens"),
        **parts,
    )


def _whole(of: dict[str, Any], key: str) -> int:
    value = of.get(key)
    return value if isinstance(value, int) else 0


def counters(page: bytes) -> Counters:
    """A server's ``/metrics``; what it does not have counts as zero."""
    families = _families(page)
    tokens = list(_lines(families, b"sglang:realtime_tokens_total"))
    return Counters(
        decoded=_of(tokens, b'mode="decode"'),
        computed=_of(tokens, b'mode="prefill_compute"'),
        cached=_of(tokens, b'mode="prefill_cache"'),
        passes=_sum(families, b"sglang:cuda_graph_passes_total"),
        transfers=_spread(families, b"sglang:kv_transfer_latency_ms").count,
        moved_mb=_spread(families, b"sglang:kv_transfer_total_mb").sum,
        transfers_failed=_sum(families, b"sglang:num_transfer_failed_reqs_total")
        + _sum(families, b"sglang:num_bootstrap_failed_reqs_total"),
        finished=_sum(families, b"sglang:num_requests_total"),
        open=_open(families),
        aborted=_sum(families, b"sglang:num_aborted_requests_total"),
        prompt_tokens=_sum(families, b"sglang:prompt_tokens_total"),
        generated_tokens=_sum(families, b"sglang:generation_tokens_total"),
        prompts=_buckets(families, b"sglang:prompt_tokens_histogram"),
        first_token=_spread(families, b"sglang:time_to_first_token_seconds"),
        whole=_spread(families, b"sglang:e2e_request_latency_seconds"),
    )


@dataclass(frozen=True, slots=True)
class Front:
    """What a router's metrics say."""

    workers: tuple[Worker, ...]
    served: Spread
    """Requests that ended, in seconds."""
    refused: float
    """Requests that ended with an error."""


def front(page: bytes) -> Front:
    """A router's ``/metrics``."""
    families = _families(page)
    circuits = _by_worker(families, b"smg_worker_cb_state")
    healthy = _by_worker(families, b"smg_worker_health")
    active = _by_worker(families, b"smg_worker_requests_active")
    workers = tuple(
        Worker(url, int(circuits.get(url, 0)), healthy.get(url, 1) > 0, int(active.get(url, 0)))
        for url in sorted({*circuits, *healthy, *active})
    )
    served = _spread(families, b"smg_router_request_duration_seconds")
    return Front(workers, served, _sum(families, b"smg_router_request_errors_total"))


_Families: TypeAlias = Mapping[bytes, bytes]
"""Samples by the name of their family, as text."""


def _families(page: bytes) -> _Families:
    """A page cut into its families, which is far quicker than to look at each of its lines."""
    parts = (part.partition(b" ") for part in (b"\n" + page).split(b"\n# TYPE ")[1:])
    return {name: samples for name, _, samples in parts}


def _by_worker(families: _Families, name: bytes) -> dict[str, float]:
    lines = _lines(families, name)
    return {line.partition(b'worker="')[2].partition(b'"')[0].decode(errors="replace"): value for line, value in lines}


def _open(families: _Families) -> float:
    lines = _lines(families, b"sglang:http_requests_active")
    return sum(value for line, value in lines if b'"POST"' in line and any(path in line for path in _TOKENS))


def _spread(families: _Families, name: bytes) -> Spread:
    return Spread(
        sum(value for _, value in _lines(families, name, b"_count")),
        sum(value for _, value in _lines(families, name, b"_sum")),
    )


def _buckets(families: _Families, name: bytes) -> dict[float, float]:
    found: dict[float, float] = {}
    for line, value in _lines(families, name, b"_bucket"):
        edge = float(line.partition(b'le="')[2].partition(b'"')[0])
        found[edge] = found.get(edge, 0.0) + value
    return found


def _of(lines: list[tuple[bytes, float]], label: bytes) -> float:
    return sum(value for line, value in lines if label in line)


def _sum(families: _Families, name: bytes) -> float:
    return sum(value for _, value in _lines(families, name))


def _lines(families: _Families, name: bytes, suffix: bytes = b"") -> Iterator[tuple[bytes, float]]:
    """The samples of one name with their values: https://prometheus.io/docs/instrumenting/exposition_formats/."""
    samples = families.get(name, b"")
    begin = b"\n" + name + suffix + b"{"
    at = samples.find(begin)
    while at >= 0:
        line = samples[at + 1 :].partition(b"\n")[0]
        labels, _, value = line.rpartition(b"} ")
        try:
            yield labels, float(value.split()[0])
        except (ValueError, IndexError):
            return
        at = samples.find(begin, at + len(line))
