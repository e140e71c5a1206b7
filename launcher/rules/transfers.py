"""PD201-PD204: what NIXL and UCX need to move the KV cache."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile import DELETE
from launcher.rules.rule import Hit, Rule
from launcher.rules.view import View, pair, service

_LOCAL = frozenset(
    {"sm", "shm", "mm", "posix", "sysv", "cma", "knem", "xpmem", "self", "cuda", "cuda_copy", "cuda_ipc", "gdr_copy"}
)
"""UCX transports that cannot carry the first contact between two processes."""
_WORKING = "UCX_TLS: cuda_copy,cuda_ipc,sm,tcp,self"
_ALLOCATOR = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


def _transports(view: View) -> Iterator[tuple[str, set[str]]]:
    """The list of each server that names one; ``^x`` excludes, so such a list says nothing about the rest."""
    if view.transfer == "nixl":
        for server in view.of("prefill", "decode"):
            names = server.env.get("UCX_TLS", "all")
            if names and not names.startswith("^"):
                yield server.name, {name.strip() for name in names.split(",")}


def no_wire_up(view: View) -> Iterator[Hit]:
    """UCX_TLS without a transport over which two processes can meet."""
    for server, names in _transports(view):
        if names <= _LOCAL:
            error = "no transport for the first contact: NIXL cannot start (NIXL_ERR_BACKEND); tcp is enough"
            write = _WORKING if view.engine == "sglang" else "UCX_TLS: tcp,self"
            yield Hit(server, "env", "UCX_TLS", error, write)


def no_cuda_transport(view: View) -> Iterator[Hit]:
    """UCX_TLS that leaves UCX blind for GPU memory."""
    for server, names in _transports(view):
        if view.engine == "sglang" and "all" not in names and not any(name.startswith("cuda") for name in names):
            error = "no CUDA transport: UCX takes GPU memory for the host's, and transfers fail"
            yield Hit(server, "env", "UCX_TLS", error, _WORKING)


def two_device_lists(view: View) -> Iterator[Hit]:
    """UCX_NET_DEVICES beside --disaggregation-ib-device."""
    for server in view.of("prefill", "decode"):
        if view.transfer == "nixl" and server.env.get("UCX_NET_DEVICES") and "disaggregation-ib-device" in server.args:
            error = "has no effect: UCX_NET_DEVICES wins, and only the log says so"
            yield Hit(server.name, "args", "disaggregation-ib-device", error, DELETE)


def expandable_segments(view: View) -> Iterator[Hit]:
    """The allocator that NIXL cannot register memory of."""
    if view.transfer != "nixl" or view.engine != "sglang":
        return
    for server in view.of("prefill", "decode"):
        for name in _ALLOCATOR:
            if "expandable_segments:true" in server.env.get(name, "").lower().replace(" ", ""):
                error = "with NIXL, transfers fall to about 0.3 GB/s and nothing says so  ai-dynamo/nixl#1754"
                yield Hit(server.name, "env", name, error, f"{DELETE} (fine without prefill/decode)")


RULES = (
    Rule(
        code="PD201",
        title="UCX_TLS has a transport over which prefill and decode can meet",
        source="measured with NIXL 1.5.1: sm,self and cma,posix,self fail with NIXL_ERR_BACKEND; tcp,self works",
        check=no_wire_up,
        good=pair(decode=service("decode", env={"UCX_TLS": "cuda_copy,cuda_ipc,sm,tcp,self"})),
        bad=pair(decode=service("decode", env={"UCX_TLS": "cuda_copy,cuda_ipc,sm,self"})),
    ),
    Rule(
        code="PD202",
        title="UCX_TLS has a CUDA transport on servers with GPUs",
        source="https://github.com/ai-dynamo/nixl/issues/1628",
        check=no_cuda_transport,
        good=pair(prefill=service("prefill", env={"UCX_TLS": "cuda_copy,cuda_ipc,sm,tcp,self"})),
        bad=pair(prefill=service("prefill", env={"UCX_TLS": "tcp,self"})),
    ),
    Rule(
        code="PD203",
        title="UCX_NET_DEVICES and disaggregation-ib-device do not stand together",
        source="SGLang 0.5.23, disaggregation/nixl/conn.py:564; https://github.com/sgl-project/sglang/pull/28737",
        check=two_device_lists,
        good=pair(decode=service("decode", env={"UCX_NET_DEVICES": "lo"})),
        bad=pair(decode=service("decode", {"disaggregation-ib-device": "mlx5_0"}, {"UCX_NET_DEVICES": "lo"})),
    ),
    Rule(
        code="PD204",
        title="no expandable segments where NIXL moves the KV cache",
        source="https://github.com/ai-dynamo/nixl/issues/1754",
        check=expandable_segments,
        good=View((service("aggregated", env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),)),
        bad=pair(decode=service("decode", env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})),
    ),
)
