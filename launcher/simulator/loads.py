"""GET /v1/loads, from the scheduler's last snapshot: names as in sglang/srt/managers/load_snapshot.py of 0.5.23."""

import time
from typing import Any, Final

from .job import RefusedError
from .naming import VERSION
from .service import Service

_SECTIONS: Final = frozenset({"core", "memory", "spec", "lora", "disagg", "queues", "all"})


def loads(service: Service, include: str | None) -> dict[str, Any]:
    """GET /v1/loads; raises RefusedError for a section that does not exist."""
    wanted = {part.strip() for part in include.split(",")} if include else {"all"}
    if not wanted <= _SECTIONS:
        raise RefusedError(
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
    queues, used = service.engine.queues, service.engine.used_tokens
    capacity, slots = service.settings.number("max_total_tokens"), service.settings.number("max_running_requests")
    snapshot = service.engine.snapshot
    counts = snapshot["counts"]
    seen = counts["prefill_compute"] + counts["prefill_cache"]
    return {
        "timestamp": snapshot["timestamp"],
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
        "gen_throughput": snapshot["gen_throughput"],
        "cache_hit_rate": counts["prefill_cache"] / seen if seen else 0.0,
        "utilization": queues["running"] / slots,
        "total_prefill_uncached_tokens": counts["prefill_compute"],
        "total_prefill_busy_us": 0,
        "decode_moments": _moments(counts["decode"]),
    }


def _moments(steps: int) -> list[float] | None:
    """Sums over decode steps, of which only their number means something here."""
    return [float(steps), 0.0, 0.0, 0.0, 0.0, float(steps)] if steps else None


def _section(service: Service, name: str) -> dict[str, Any]:
    queues = service.engine.queues
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
        "kv_transfer_speed_gb_s": service.engine.snapshot["kv_transfer_speed_gb_s"],
        "kv_transfer_latency_ms": service.engine.snapshot["kv_transfer_latency_ms"],
    }
