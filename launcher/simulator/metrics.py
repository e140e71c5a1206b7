"""GET /metrics in Prometheus' text format, from the scheduler's last snapshot and the server's own counters.

Like SGLang's it keeps answering when the scheduler stands still, with the numbers of its last sign of life. Names and
labels: sglang/srt/observability/metrics_collector.py of 0.5.23.
"""

from typing import Any, Final

from .naming import NOTICE
from .service import LATENCIES, LENGTHS, Service
from .tally import BUCKETS

_GAUGES: Final = {
    "num_running_reqs": "The number of running requests.",
    "num_queue_reqs": "The number of requests in the waiting queue.",
    "num_prefill_bootstrap_queue_reqs": "The number of requests in the prefill bootstrap queue.",
    "num_prefill_inflight_queue_reqs": "The number of requests in the prefill inflight queue.",
    "num_decode_prealloc_queue_reqs": "The number of requests in the decode prealloc queue.",
    "num_decode_transfer_queue_reqs": "The number of requests in the decode transfer queue.",
    "num_decode_deferred_kv_release_reqs": "The number of failed decode requests whose KV allocations are held.",
    "num_retracted_reqs": "The number of retracted requests.",
    "num_used_tokens": "The number of used tokens.",
    "token_usage": "The token usage.",
    "kv_available_tokens": "Number of free token slots in the KV cache pool.",
    "kv_used_tokens": "Number of actively used token slots in the KV cache pool.",
    "max_total_num_tokens": "Maximum total number of tokens in the KV cache pool.",
    "gen_throughput": "The generation throughput (token/s).",
}
_FAILURES: Final = {"bootstrap_failed": "bootstrap failed", "transfer_failed": "transfer failed"}
_REQUESTS: Final = {
    "num_requests": "Number of requests processed.",
    "prompt_tokens": "Number of prefill tokens processed.",
    "generation_tokens": "Number of generation tokens processed.",
}


class _Page:
    """Samples as text; all carry the labels of the server, those of the scheduler its ranks as well."""

    def __init__(self, labels: dict[str, object]) -> None:
        self._labels = labels
        self._ranks: dict[str, object] = {"tp_rank": 0, "pp_rank": 0, "moe_ep_rank": 0}
        self.lines: list[str] = []

    def head(self, name: str, kind: str, text: str) -> None:
        self.lines += [f"# HELP sglang:{name} {text} (simulator)", f"# TYPE sglang:{name} {kind}"]

    def of_scheduler(self, name: str, value: float, **labels: object) -> None:
        self.of_server(name, value, **self._ranks, **labels)

    def of_server(self, name: str, value: float, **labels: object) -> None:
        pairs = ",".join(f'{key}="{_escape(value)}"' for key, value in {**self._labels, **labels}.items())
        self.lines.append(f"sglang:{name}{{{pairs}}} {value}")


def _escape(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def page(service: Service) -> str:
    """All metrics as text."""
    role = service.settings.role
    out = _Page(
        {
            "model_name": service.settings.values["served_model_name"],
            "engine_type": "unified" if role == "aggregated" else role,
        }
    )
    out.head("simulator_info", "gauge", f"{NOTICE}.")
    out.of_server("simulator_info", 1)
    values = _gauge_values(service)
    for name, text in _GAUGES.items():
        out.head(name, "gauge", text)
        out.of_scheduler(name, values[name])
    _counters_of_scheduler(out, service.engine.snapshot["counts"])
    _counters_of_server(out, service)
    _histograms(out, service.engine.snapshot["observed"])
    return "\n".join(out.lines) + "\n"


def _gauge_values(service: Service) -> dict[str, float]:
    queues, used = service.engine.queues, service.engine.used_tokens
    capacity = service.settings.number("max_total_tokens")
    return {
        "num_running_reqs": queues["running"],
        "num_queue_reqs": queues["waiting"],
        "num_prefill_bootstrap_queue_reqs": queues["prefill_bootstrap"],
        "num_prefill_inflight_queue_reqs": queues["prefill_inflight"],
        "num_decode_prealloc_queue_reqs": queues["decode_prealloc"],
        "num_decode_transfer_queue_reqs": queues["decode_transfer"],
        "num_decode_deferred_kv_release_reqs": 0,
        "num_retracted_reqs": 0,
        "num_used_tokens": used,
        "token_usage": used / capacity,
        "kv_available_tokens": capacity - used,
        "kv_used_tokens": used,
        "max_total_num_tokens": capacity,
        "gen_throughput": service.engine.snapshot["gen_throughput"],
    }


def _counters_of_scheduler(out: _Page, counts: dict[str, int]) -> None:
    for key, words in _FAILURES.items():
        out.head(f"num_{key}_reqs_total", "counter", f"The number of {words} requests.")
        out.of_scheduler(f"num_{key}_reqs_total", counts[key])
    out.head("cuda_graph_passes_total", "counter", "Total number of forward passes categorized by CUDA graph.")
    out.of_scheduler("cuda_graph_passes_total", counts["forward_passes"], mode="none")
    out.head("realtime_tokens_total", "counter", "Total number of tokens processed.")
    for mode in ("prefill_compute", "prefill_cache", "decode"):
        out.of_scheduler("realtime_tokens_total", counts[mode], mode=mode)


def _counters_of_server(out: _Page, service: Service) -> None:
    finished = service.finished
    out.head("startup_time_seconds", "gauge", "Engine startup duration by phase in seconds.")
    out.of_server("startup_time_seconds", service.startup_s, phase="total")
    for name, text in _REQUESTS.items():
        out.head(f"{name}_total", "counter", text)
        for streaming in (False, True):
            out.of_server(f"{name}_total", finished[name, streaming], is_streaming=str(streaming).lower())
    out.head("cached_tokens_total", "counter", "Number of cached prompt tokens by source (device/host/storage).")
    cached = finished["cached_tokens", False] + finished["cached_tokens", True]
    out.of_server("cached_tokens_total", cached, cache_source="device")
    out.head("num_aborted_requests_total", "counter", "Number of requests aborted.")
    aborted = finished["num_aborted_requests", False] + finished["num_aborted_requests", True]
    out.of_server("num_aborted_requests_total", aborted)
    for name, lengths in service.lengths.items():
        out.head(f"{name}_histogram", "histogram", f"Histogram of {name.replace('_', ' ')}.")
        for length, number in zip((*map(float, LENGTHS), "+Inf"), lengths.counts, strict=True):
            out.of_server(f"{name}_histogram_bucket", number, le=length)
        out.of_server(f"{name}_histogram_count", lengths.counts[-1])
        out.of_server(f"{name}_histogram_sum", lengths.tokens)
    for name, (*counts, total, value) in service.took.items():
        out.head(name, "histogram", f"Histogram of {name.replace('_', ' ')}.")
        for bound, count in zip(LATENCIES, counts, strict=True):
            out.of_server(f"{name}_bucket", count, le=bound)
        out.of_server(f"{name}_bucket", total, le="+Inf")
        out.of_server(f"{name}_count", total)
        out.of_server(f"{name}_sum", value)
    # SGLang counts each path for itself; the labels of the server are not on it.
    out.head("http_requests_active", "gauge", "Number of currently active HTTP requests.")
    asked = sum(not rid.startswith("HEALTH_CHECK") for rid in service.engine.running)
    out.lines.append(f'sglang:http_requests_active{{endpoint="/generate",method="POST"}} {asked}')


def _histograms(out: _Page, observed: dict[str, Any]) -> None:
    for name, bounds in BUCKETS.items():
        *counts, total, value = observed[name]
        out.head(name, "histogram", f"Histogram of {name.replace('_', ' ')}.")
        for bound, count in zip(bounds, counts, strict=True):
            out.of_scheduler(f"{name}_bucket", count, le=float(bound))
        out.of_scheduler(f"{name}_bucket", total, le="+Inf")
        out.of_scheduler(f"{name}_count", total)
        out.of_scheduler(f"{name}_sum", value)
