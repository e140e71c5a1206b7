"""A real KV transfer for a plan: the ends with the environment that its services get."""

from __future__ import annotations

import json
import os
import pwd

from launcher.doctor import Software
from launcher.observe.cards import Absent, Cards
from launcher.observe.transfer import End, TransferFailed, Transferred, transfer
from launcher.plan import DIGEST, MARK, Plan, Service
from launcher.render import Layout

_NOT_OF_THE_ENDS = frozenset({MARK, DIGEST, "PYTHONPATH", "SGLANG_USE_CPU_ENGINE"})
"""What would make a passing process count as a service, or bring in SGLang: an end needs NIXL alone."""
_NEEDED = 2 << 30
"""Bytes free on a card: a CUDA context takes half a gibibyte beside the few that move."""


def measure(
    plan: Plan, layout: Layout, software: Software | None, cards: Cards | Absent | None
) -> Transferred | TransferFailed | str | None:
    """Move memory from the first prefill to the first decode; the reason where none can be moved; None where none is.

    Over NIXL only. It takes one to three seconds, and longer between cards, where torch has to be loaded.
    """
    prefill, decode = (next((s for s in plan.services if s.role == role), None) for role in ("prefill", "decode"))
    if plan.engine.kind == "simulator" or plan.transfer != "nixl" or prefill is None or decode is None:
        return None
    if software is None:
        return "the engine's environment is not on this machine"
    if plan.engine.kind == "sglang" and (reason := _no_room((prefill, decode), cards)):
        return reason
    backend = _value(prefill, "SGLANG_DISAGGREGATION_NIXL_BACKEND") or "UCX"
    try:
        parameters = json.loads(_value(prefill, "SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS") or "{}")
    except ValueError:
        parameters = {}
    return transfer(
        _end(prefill, layout),
        _end(decode, layout),
        backend=backend,
        parameters=parameters if isinstance(parameters, dict) else {},
        modules=_modules(software),
    )


def _no_room(ends: tuple[Service, Service], cards: Cards | Absent | None) -> str | None:
    if not isinstance(cards, Cards):
        return "there is no driver, and this profile moves GPU memory"
    for service in ends:
        for index in service.gpus[:1]:
            card = cards.card(index)
            if card is None or card.free is None:
                return f"GPU {index}, the first of {service.name}, does not answer"
            if card.free < _NEEDED:
                return f"GPU {index} has less than 2 GiB free beside what runs on it"
    return None


def _end(service: Service, layout: Layout) -> End:
    words = service.words()
    at = words.index("--base-gpu-id") + 1 if "--base-gpu-id" in words else None
    return End(
        service=service.name,
        python=words[0],
        env={v.name: layout.value(v) for v in service.env if v.name not in _NOT_OF_THE_ENDS},
        device=int(words[at]) if service.gpus and at else None,
        user=_other(service.user),
    )


def _other(user: str | None) -> str | None:
    """The user to become, which only root can."""
    root = os.geteuid() == 0
    return user if user and root and user != pwd.getpwuid(0).pw_name else None


def _value(service: Service, name: str) -> str | None:
    return next((variable.value for variable in service.env if variable.name == name), None)


def _modules(software: Software) -> tuple[str, ...]:
    """The packages that hold NIXL: the one of torch's CUDA first, as `nixl` itself chooses, and without its import."""
    major = software.cuda.split(".")[0] if software.cuda else None
    own = [f"nixl_cu{major}"] if major else []
    installed = [name.replace("-", "_") for name in software.nixl if name.startswith("nixl-cu")]
    return tuple(dict.fromkeys([*(name for name in own if name in installed), *installed, "nixl"]))
