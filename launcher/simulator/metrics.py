"""GET /metrics in Prometheus' text format and GET /v1/loads, both from the scheduler's last snapshot.

Like SGLang's they keep answering when the scheduler stands still, with the numbers of its last sign of life. Names and
labels: sglang/srt/observability/metrics_collector.py and managers/load_snapshot.py of 0.5.23.
"""

import time
from typing import Any

from .naming import NOTICE, VERSION
from .native import BadRequestError, Service
from .tally import BUCKETS, QUEUES

_SECTIONS = frozenset({"core", "memory", "spec", "lora", "disagg", "queues", "all"})


def _queues(service: Service) -> dict[str, int]:
    queues: dict[str, int] = service.engine.snapshot.get("queues", dict.fromkeys(QUEUES, 0))
    return queues


def _used(service: Service) -> int:
    return int(service.engine.snapshot.get("used_tokens", 0))


class _Page:
    """Metrics as text, under the labels of one server."""

    def __init__(self, labels: dict[str, object]) -> None:
        self._labels = labels
        self._lines: list[str] = []

    def head(self, name: str, kind: str, text: str) -> None:
        self._lines += [f"# HELP sglang:{name} {text} (simulator)", f"# TYPE sglang:{name} {kind}"]

    def sample(self, name: str, value: float, **labels: object) -> None:
        pairs = ",".join(f'{key}="{_escape(value)}"' for key, value in {**self._labels, **labels}.items())
        self._lines.append(f"sglang:{name}{{{pairs}}} {value}")

    def gauge(self, name: str, value: float, text: str) -> None:
        self.head(name, "gauge", text)
        self.sample(name, value)

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _escape(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def metrics(service: Service) -> str:
    """All metrics as Prometheus text."""
    role = service.settings.role
    labels: dict[str, object] = {
        "model_name": service.settings.values["served_model_name"],
        "engine_type": "unified" if role == "aggregated" else role,
        "tp_rank": 0,
        "pp_rank": 0,
        "moe_ep_rank": 0,
    }
    page = _Page(labels)
    page.gauge("simulator_info", 1, f"{NOTICE}.")
    _gauges(page, service)
    _counters(page, service)
    _histograms(page, service)
    return page.text()


def _gauges(page: _Page, service: Service) -> None:
    queues, used = _queues(service), _used(service)
    capacity = service.settings.number("max_total_tokens")
    snapshot = service.engine.snapshot
    for name, value, text in (
        ("num_running_reqs", queues["running"], "The number of running requests."),
        ("num_queue_reqs", queues["waiting"], "The number of requests in the waiting queue."),
        ("num_prefill_bootstrap_queue_reqs", queues["prefill_bootstrap"], "Requests in the prefill bootstrap queue."),
        ("num_prefill_inflight_queue_reqs", queues["prefill_inflight"], "Requests in the prefill inflight queue."),
        ("num_decode_prealloc_queue_reqs", queues["decode_prealloc"], "Requests in the decode prealloc queue."),
        ("num_decode_transfer_queue_reqs", queues["decode_transfer"], "Requests in the decode transfer queue."),
        ("num_decode_deferred_kv_release_reqs", 0, "Failed decode requests whose KV is held."),
        ("num_retracted_reqs", 0, "The number of retracted requests."),
        ("num_used_tokens", used, "The number of used tokens."),
        ("token_usage", used / capacity, "The token usage."),
        ("kv_available_tokens", capacity - used, "Number of free token slots in the KV cache pool."),
        ("kv_used_tokens", used, "Number of actively used token slots in the KV cache pool."),
        ("max_total_num_tokens", capacity, "Maximum total number of tokens in the KV cache pool."),
        ("gen_throughput", snapshot.get("gen_throughput", 0.0), "The generation throughput (token/s)."),
    ):
        page.gauge(name, value, text)
    page.head("startup_time_seconds", "gauge", "Engine startup duration by phase in seconds.")
    page.sample("startup_time_seconds", service.startup_s, phase="total")


def _counters(page: _Page, service: Service) -> None:
    counts: dict[str, int] = service.engine.snapshot.get("counts", {})
    for name, key, text in (
        ("num_bootstrap_failed_reqs_total", "bootstrap_failed", "The number of bootstrap failed requests."),
        ("num_transfer_failed_reqs_total", "transfer_failed", "The number of transfer failed requests."),
        ("cuda_graph_passes_total", "forward_passes", "Total number of forward passes."),
    ):
        page.head(name, "counter", text)
        page.sample(name, counts.get(key, 0), **({"mode": "none"} if key == "forward_passes" else {}))
    page.head("realtime_tokens_total", "counter", "Total number of tokens processed.")
    for mode in ("prefill_compute", "prefill_cache", "decode"):
        page.sample("realtime_tokens_total", counts.get(mode, 0), mode=mode)
    for name, text in (
        ("num_requests", "Number of requests processed."),
        ("prompt_tokens", "Number of prefill tokens processed."),
        ("generation_tokens", "Number of generation tokens processed."),
        ("cached_tokens", "Number of cached prompt tokens."),
    ):
        page.head(f"{name}_total", "counter", text)
        for streaming in (False, True):
            value = service.finished.get((name, streaming), 0)
            page.sample(f"{name}_total", value, is_streaming=str(streaming).lower())


def _histograms(page: _Page, service: Service) -> None:
    observed: dict[str, list[float]] = service.engine.snapshot.get("observed", {})
    for name, bounds in BUCKETS.items():
        row = observed.get(name, [0.0] * (len(bounds) + 2))
        page.head(name, "histogram", f"Histogram of {name.replace('_', ' ')}")
        for bound, count in zip(bounds, row[:-2], strict=True):
            page.sample(f"{name}_bucket", count, le=float(bound))
        page.sample(f"{name}_bucket", row[-2], le="+Inf")
        page.sample(f"{name}_count", row[-2])
        page.sample(f"{name}_sum", row[-1])


def loads(service: Service, include: str | None) -> dict[str, Any]:
    """GET /v1/loads; raises BadRequestError for a section that does not exist."""
    wanted = {part.strip() for part in include.split(",")} if include else {"all"}
    if not wanted <= _SECTIONS:
        raise BadRequestError(
            f"Invalid include sections: {sorted(wanted - _SECTIONS)}. Valid options: {sorted(_SECTIONS)}"
        )
    load = _core(service)
    for name, fields in (("memory", "memory"), ("disagg", "disaggregation"), ("queues", "queues")):
        if wanted & {name, "all"}:
            load[fields] = _section(service, fields)
    return {
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        "version": VERSION,
        "accelerator": "simulator",
        "num_accelerators": service.settings.values["tp_size"],
        "loads": [load],
    }


def _core(service: Service) -> dict[str, Any]:
    queues, used = _queues(service), _used(service)
    capacity, slots = service.settings.number("max_total_tokens"), service.settings.number("max_running_requests")
    snapshot = service.engine.snapshot
    counts = snapshot.get("counts", {})
    seen = counts.get("prefill_compute", 0) + counts.get("prefill_cache", 0)
    return {
        "timestamp": snapshot.get("timestamp", 0.0),
        "dp_rank": 0,
        "num_running_reqs": queues["running"],
        "num_waiting_reqs": sum(queues.values()) - queues["running"],
        "num_waiting_uncached_tokens": 0,
        "num_used_tokens": used,
        "num_total_tokens": used,
        "num_active_tokens": used,
        "num_prealloc_ready_tokens": 0,
        "max_total_num_tokens": capacity,
        "max_running_requests": slots,
        "token_usage": used / capacity,
        "gen_throughput": snapshot.get("gen_throughput", 0.0),
        "cache_hit_rate": counts.get("prefill_cache", 0) / seen if seen else 0.0,
        "utilization": queues["running"] / slots,
        "total_prefill_uncached_tokens": counts.get("prefill_compute", 0),
        "total_prefill_busy_us": 0,
        "decode_moments": None,
    }


def _section(service: Service, name: str) -> dict[str, Any]:
    queues = _queues(service)
    capacity = service.settings.values["max_total_tokens"]
    if name == "memory":
        return {"weight_gb": 0.0, "kv_cache_gb": 0.0, "graph_gb": 0.0, "token_capacity": capacity}
    if name == "queues":
        return {"waiting": queues["waiting"], "grammar": 0, "paused": 0, "retracted": 0, "prealloc_ready": 0}
    return {
        "mode": service.settings.values["disaggregation_mode"],
        "prefill_bootstrap_queue_reqs": queues["prefill_bootstrap"],
        "prefill_inflight_queue_reqs": queues["prefill_inflight"],
        "decode_prealloc_queue_reqs": queues["decode_prealloc"],
        "decode_transfer_queue_reqs": queues["decode_transfer"],
        "decode_retracted_queue_reqs": 0,
        "kv_transfer_speed_gb_s": service.engine.snapshot.get("kv_transfer_speed_gb_s", 0.0),
        "kv_transfer_latency_ms": service.engine.snapshot.get("kv_transfer_latency_ms", 0.0),
    }
