"""Flags that a profile spells wrongly, may not give because pdlaunch owns them, or should not give at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from launcher.profile.findings import DELETE, Finding
from launcher.profile.levels import levels
from launcher.profile.lines import Lines
from launcher.profile.model import Profile
from launcher.profile.tree import KeyPath
from launcher.profile.waivers import allows

_SIZES = {
    **dict.fromkeys(("tp", "tp-size", "tensor-parallel-size"), "tp"),
    **dict.fromkeys(("dp", "dp-size", "data-parallel-size"), "dp"),
    **dict.fromkeys(("ep", "ep-size", "expert-parallel-size"), "ep"),
}
_KEYS = _SIZES | {
    "port": "port",
    "nccl-port": "nccl_port",
    "disaggregation-bootstrap-port": "bootstrap_port",
    "base-gpu-id": "gpus",
    "gpu-id-step": "gpus",
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
"""Flag to the line that says it, elsewhere in the profile."""

_ALWAYS = {
    "disaggregation-mode": "the role decides it",
    "enable-metrics": "it is always on",
    "config": "a second file would hide what runs; write its flags here",
    **dict.fromkeys(("dist-init-addr", "nccl-init-addr"), "nccl_port decides it"),
    **dict.fromkeys(("nnodes", "node-rank"), "a server runs on one machine"),
}
_ROUTERS = {
    **dict.fromkeys(("prefill", "decode", "worker-urls", "pd-disaggregation", "mini-lb"), "it follows from the roles"),
    **dict.fromkeys(("prometheus-host", "prometheus-port"), "it is assigned, on the router's host"),
}
_KEEPS = {
    "api-key": "/server_info and the log show it",
    "admin-api-key": "/server_info and the log show it",
    "ssl-keyfile-password": "/server_info and the log show it",
}
_ROUTER_KEEPS = dict.fromkeys(("api-key", "control-plane-api-keys", "oracle-password"), "ps shows it")


def check_flags(profile: Profile, lines: Lines) -> Iterator[Finding]:
    """Find flags that are misspelt by form, owned by pdlaunch, or secrets on a command line."""
    for path, level in levels(profile):
        router = path == ("router",)
        for name in level.args:
            here: KeyPath = (*path, "args", name)
            bare = name.lstrip("-").partition("=")[0].replace("_", "-")
            owned = _owned(bare, router, path, lines.spelled(*here) or "...")
            if owned:
                yield Finding(here, *owned)
            elif bare in (_ROUTER_KEEPS if router else _KEEPS):
                if not allows(profile, here, None):
                    yield _secret(here, _ROUTER_KEEPS if router else _KEEPS, bare)
            elif bare != name:
                yield _misspelt(here, name, bare, lines)


def _owned(bare: str, router: bool, path: KeyPath, value: str) -> tuple[str, str] | None:
    if router:
        if bare in {"host", "port"}:
            return "pdlaunch owns this: it is a key of the router", f"{bare}: {value}"
        return (f"pdlaunch owns this: {_ROUTERS[bare]}", DELETE) if bare in _ROUTERS else None
    if bare in _KEYS:
        home = {"engine": "prefill and decode", "prefill": "prefill"}.get(str(path[0]), str(path[0]))
        key = _KEYS[bare]
        if key == "bootstrap_port":
            home = "prefill"
        shown = "0-3" if key == "gpus" else value
        return f"pdlaunch owns this: it is a key under {home}", f"{key}: {shown}"
    if bare in _ELSEWHERE:
        return "pdlaunch owns this: it is a key of the profile", _ELSEWHERE[bare].format(value=value)
    return (f"pdlaunch owns this: {_ALWAYS[bare]}", DELETE) if bare in _ALWAYS else None


def _secret(here: KeyPath, reasons: Mapping[str, str], bare: str) -> Finding:
    error = (
        f"a secret that exists only as a flag: {reasons[bare]}. Workers listen on the engine's host only; "
        "put the key in the proxy in front, or name this flag under `allow`"
    )
    return Finding(here, error, DELETE)


def _misspelt(here: KeyPath, name: str, bare: str, lines: Lines) -> Finding:
    _, equals, after = name.partition("=")
    value = after if equals else lines.spelled(*here)
    if equals:
        reason = "a flag and its value are key and value here"
    elif name.startswith("-"):
        reason = "flags stand without dashes in front"
    else:
        reason = "flags are spelled with dashes"
    return Finding(here, reason, f"{bare}: {value or '...'}")
