"""Flags that pdlaunch gives itself, and what to write in their place."""

from __future__ import annotations

from launcher.profile.findings import DELETE

_KEYS = {
    **dict.fromkeys(("tp", "tp-size", "tensor-parallel-size"), "tp"),
    **dict.fromkeys(("dp", "dp-size", "data-parallel-size"), "dp"),
    **dict.fromkeys(("ep", "ep-size", "expert-parallel-size"), "ep"),
    **dict.fromkeys(("base-gpu-id", "gpu-id-step"), "gpus"),
    "port": "port",
    "nccl-port": "nccl_port",
    "disaggregation-bootstrap-port": "bootstrap_port",
}
"""Flag to the key under the role that says it."""

_ELSEWHERE = {
    **dict.fromkeys(("model", "model-path"), "model: {value}"),
    "served-model-name": "model: {{path: ..., name: {value}}}",
    "revision": "model: {{path: ..., revision: {value}}}",
    "host": "engine: {{host: {value}}}",
    "disaggregation-transfer-backend": "transfer: {value}",
    "device": "engine: {{kind: cpu}}",
}
"""Flag to the line that says it elsewhere in the profile."""

_SETTLED = {
    "disaggregation-mode": "the role decides it",
    "enable-metrics": "it is always on",
    "config": "a second file would hide what runs; write its flags here",
    **dict.fromkeys(("dist-init-addr", "nccl-init-addr"), "`nccl_port` decides it"),
    **dict.fromkeys(("nnodes", "node-rank"), "a server runs on one machine"),
}
_SETTLED_FOR_ROUTERS = {
    **dict.fromkeys(("prefill", "decode", "worker-urls", "pd-disaggregation", "mini-lb"), "it follows from the roles"),
    "prometheus-host": "it is the router's host",
    "prometheus-port": "`metrics_port` decides it",
}
_SAYS = "pdlaunch owns this: "


def owned_by_engine(flag: str, home: str, value: str) -> tuple[str, str] | None:
    """Why an engine's `flag` is refused and what to write, or None where it is the profile's to give.

    `home` names the roles it stands for, `value` is spelled as in the profile.
    """
    if flag in _KEYS:
        key = _KEYS[flag]
        where = "prefill" if key == "bootstrap_port" else home
        return f"{_SAYS}it is a key under {where}", f"{key}: {'0-3' if key == 'gpus' else value}"
    if flag in _ELSEWHERE:
        return f"{_SAYS}it is a key of the profile", _ELSEWHERE[flag].format(value=value)
    return (f"{_SAYS}{_SETTLED[flag]}", DELETE) if flag in _SETTLED else None


def owned_by_router(flag: str, value: str) -> tuple[str, str] | None:
    """Why a router's `flag` is refused and what to write, or None where it is the profile's to give."""
    if flag in {"host", "port"}:
        return f"{_SAYS}it is a key of the router", f"{flag}: {value}"
    return (f"{_SAYS}{_SETTLED_FOR_ROUTERS[flag]}", DELETE) if flag in _SETTLED_FOR_ROUTERS else None
