"""How much a server has to do, from its own /v1/loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from launcher.observe.http import Endpoint

_QUEUES = (
    "prefill_bootstrap_queue_reqs",
    "prefill_inflight_queue_reqs",
    "decode_prealloc_queue_reqs",
    "decode_transfer_queue_reqs",
)


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of one server, over all its ranks."""

    running: int
    queued: int
    """Waiting, and in the queues that disaggregation adds."""

    @property
    def busy(self) -> bool:
        """Whether it has any request at all."""
        return self.running + self.queued > 0


def load(endpoint: Endpoint, timeout: float = 2.0) -> Load | None:
    """The load of the server at `endpoint`; None where it does not say."""
    body = endpoint.get("/v1/loads?include=core,disagg", timeout).json()
    ranks = body.get("loads") if isinstance(body, dict) else None
    if not isinstance(ranks, list):
        return None
    return Load(sum(_number(r, "num_running_reqs") for r in ranks), sum(map(_queued, ranks)))


def _queued(rank: dict[str, Any]) -> int:
    disaggregation = rank.get("disaggregation") or {}
    return _number(rank, "num_waiting_reqs") + sum(_number(disaggregation, queue) for queue in _QUEUES)


def _number(of: dict[str, Any], key: str) -> int:
    value = of.get(key)
    return value if isinstance(value, int) else 0
