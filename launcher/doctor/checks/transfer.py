"""DR501: the KV cache really moves from prefill to decode, whole, fast enough, over what was meant."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.doctor.check import Check, with_an_engine
from launcher.doctor.facts import Facts
from launcher.doctor.finding import Finding
from launcher.doctor.words import rate, size
from launcher.observe.transfer import TransferFailed, Transferred

_EMULATED = 1e9
"""Bytes a second. Between cards, less than that is a copy through TCP: ai-dynamo/nixl#1754 saw 0.3 GB/s."""
_MEMORY = {"DRAM": "host memory", "VRAM": "GPU memory"}
_KNOWN = (
    ("network device", "UCX_NET_DEVICES: lo     or one that the line above names"),
    ("transport '", "UCX_TLS: cuda_copy,cuda_ipc,sm,tcp,self     (without a GPU: tcp,self)"),
    ("no active messages transport", "UCX_TLS needs a transport for the first contact: add tcp"),
    ("No plugins available", "delete NIXL_PLUGIN_DIR, or install nixl again"),
    ("NIXL is not installed", "pip install --no-deps nixl nixl-cu13     into the engine's environment"),
    ("Permission denied", "the user that serves must be able to read and run the engine's environment"),
)


def transfer(facts: Facts) -> Iterator[Finding]:
    """One process writes into another's memory, with the profile's own variables, and every byte arrives."""
    match facts.transferred:
        case TransferFailed() as failed:
            said = "".join(f"\n{line}" for line in failed.said)
            ends = f"{failed.source} -> {failed.target}, {_MEMORY[failed.memory]}"
            text = f"no KV transfer ({ends}): {failed.where}: {failed.error}{said}"
            everything = f"{failed.error} {' '.join(failed.said)}"
            fix = next((fix for mark, fix in _KNOWN if mark in everything), None)
            yield Finding("blocker", "DR501", text, fix or "see UCX_* and NIXL_* in: pdlaunch plan PROFILE --json")
        case Transferred() as done:
            yield _measured(done, facts.floor)


def _measured(done: Transferred, floor: float | None) -> Finding:
    over = done.lane or "a transport that UCX did not name"
    what = f"{done.source} -> {done.target}: {rate(done.rate)} over {over}, {_MEMORY[done.memory]}"
    whole = f"{len(done.times)} x {size(done.size)}, every byte equal"
    if floor is not None and done.rate < floor:
        text = f"{what}, below the profile's floor of {rate(floor)} ({whole})"
        return Finding("blocker", "DR501", text, "look at UCX_TLS and at what shares the link; or lower transfer.floor")
    if done.memory == "VRAM" and (done.rate < _EMULATED or over.startswith("tcp")):
        text = f"{what}: not from card to card ({whole})"
        fix = "UCX_TLS: cuda_copy,cuda_ipc,sm,tcp,self; no expandable_segments; all cards visible to both"
        return Finding("warning", "DR501", text, fix)
    return Finding("ok", "DR501", f"{what} ({whole})")


def _makes_sense(facts: Facts) -> str | None:
    if reason := with_an_engine(facts):
        return "the simulator moves no KV cache" if facts.kind == "simulator" else reason
    if facts.plan and facts.plan.transfer != "nixl":
        return f"only NIXL is measured, and this deployment moves by {facts.plan.transfer}"
    if facts.plan and not {"prefill", "decode"} <= {service.role for service in facts.plan.services}:
        return "an aggregated deployment moves nothing"
    if facts.transferred is None:
        return facts.no_transfer or "it was not asked for"
    return None


CHECKS = (
    Check(
        "DR501",
        "KV moves from prefill to decode with the profile's own variables, whole and fast enough",
        "measured between two processes, the transport by UCX_PROTO_INFO: https://github.com/ai-dynamo/nixl/issues/1097",
        transfer,
        _makes_sense,
    ),
)
