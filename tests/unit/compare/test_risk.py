"""Which kind of change a name is: the order in which a person should look."""

from __future__ import annotations

import pytest

from launcher.compare import Change, Setting, risk_of
from launcher.compare.change import Kind

ORDER = (
    "launch shape",
    "kernels",
    "transfer",
    "memory",
    "machine",
    "places",
    "time-outs",
    "engine",
    "router",
    "decided",
    "around",
)


def change(kind: Kind, name: str, scope: str = "decode") -> Change:
    return Change(kind, name, ("decode-0",), scope, None, Setting("1"))


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("env", "SGLANG_SM120_MMA_TARGET_CTAS", "launch shape"),
        ("env", "SGLANG_OPT_DSV4_NONPAGED_INDEXER_MIN_QUERY_TOKENS", "launch shape"),
        ("args", "triton-attention-num-kv-splits", "launch shape"),
        ("args", "triton-attention-split-tile-size", "launch shape"),
        ("env", "SGLANG_SM120_FLASHMLA_BACKEND", "kernels"),
        ("args", "attention-backend", "kernels"),
        ("args", "moe-runner-backend", "kernels"),
        ("args", "chunked-prefill-size", "kernels"),
        ("args", "cuda-graph-max-bs-decode", "kernels"),
        ("args", "page-size", "kernels"),
        ("args", "context-length", "kernels"),
        ("source", "sglang/srt/layers/attention/dsv4/metadata.py", "kernels"),
        ("package", "flashinfer-python", "kernels"),
        ("package", "torch", "kernels"),
        ("env", "UCX_TLS", "transfer"),
        ("env", "MC_FORCE_TCP", "transfer"),
        ("env", "NCCL_P2P_LEVEL", "transfer"),
        ("env", "SGLANG_DISAGGREGATION_NIXL_BACKEND", "transfer"),
        ("args", "disaggregation-transfer-backend", "transfer"),
        ("args", "disable-custom-all-reduce", "transfer"),
        ("source", "sglang/srt/disaggregation/nixl/conn.py", "transfer"),
        ("package", "nixl-cu13", "transfer"),
        ("args", "mem-fraction-static", "memory"),
        ("args", "max-total-tokens", "memory"),
        ("args", "max-running-requests", "memory"),
        ("env", "PYTORCH_CUDA_ALLOC_CONF", "memory"),
        ("source", "sglang/srt/mem_cache/memory_pool.py", "memory"),
        ("receipt", "driver", "machine"),
        ("service", "", "places"),
        ("gpus", "", "places"),
        ("args", "tp-size", "places"),
        ("ports", "nccl", "places"),
        ("env", "SGLANG_TIMEOUT_KEEP_ALIVE", "time-outs"),
        ("env", "SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "time-outs"),
        ("args", "soft-watchdog-timeout", "time-outs"),
        ("args", "enable-cache-report", "engine"),
        ("env", "HOME", "engine"),
        ("secrets", "HF_TOKEN", "engine"),
        ("source", "sglang/srt/entrypoints/http_server.py", "engine"),
        ("package", "fastapi", "engine"),
        ("plan", "engine.version", "engine"),
        ("decided", "page_size", "decided"),
        ("plan", "ready.probe", "around"),
        ("file", "decode-0.sh", "around"),
    ],
)
def test_a_name_has_its_class(kind: Kind, name: str, expected: str) -> None:
    assert risk_of(change(kind, name)).name == expected


@pytest.mark.parametrize("name", ["queue-size", "request-timeout-secs", "max-concurrent-requests", "prefill"])
def test_what_only_the_router_reads_ranks_below_everything_that_serves(name: str) -> None:
    assert risk_of(change("args", name, "router")).name == "router"


def test_a_router_that_goes_is_a_service_that_goes() -> None:
    assert risk_of(change("service", "", "router")).name == "places"


def test_the_classes_have_an_order_and_a_reason_each() -> None:
    found = {
        risk_of(c)
        for kind in ("args", "env", "service", "receipt", "decided", "file")
        for name in ("CTAS", "ATTENTION", "UCX", "MEM_FRACTION", "TIMEOUT", "HOME")
        for scope in ("decode", "router")
        for c in [change(kind, name, scope)]
    }
    assert [risk.name for risk in sorted(found, key=lambda r: r.rank)] == list(ORDER)
    assert all(len(risk.why) > 30 for risk in found)
