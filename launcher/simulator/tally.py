"""What a scheduler counts: queues, tokens, transfers; the server gets a snapshot of it after each change."""

import time
from collections.abc import Callable
from typing import Any, Final

QUEUES: Final = (
    "waiting",
    "running",
    "prefill_bootstrap",
    "prefill_inflight",
    "decode_prealloc",
    "decode_transfer",
)

BUCKETS: Final[dict[str, tuple[float, ...]]] = {
    "kv_transfer_latency_ms": (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000),
    "kv_transfer_bootstrap_ms": (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500),
    "kv_transfer_alloc_ms": (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500),
    "kv_transfer_total_mb": (1, 5, 10, 50, 100, 500, 1000, 5000, 10000),
    "kv_transfer_speed_gb_s": (0.1, 0.5, 1, 5, 10, 25, 50, 100, 200, 400),
}
_KV_BYTES_PER_TOKEN: Final = 1024  # made up; only so that sizes and speeds are not all zero


class Tally:
    """Counters of one scheduler since it started; `on_change` is called after each change."""

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self._on_change = on_change
        self._queues: dict[str, set[str]] = {name: set() for name in QUEUES}
        self._contexts: dict[str, int] = {}
        self._counts = dict.fromkeys(
            ("prefill_compute", "prefill_cache", "decode", "bootstrap_failed", "transfer_failed", "forward_passes"), 0
        )
        self._observed: dict[str, list[float]] = {name: [0.0] * (len(b) + 2) for name, b in BUCKETS.items()}
        self._last_transfer = (0.0, 0.0)
        self._rate = (time.monotonic(), 0, 0.0)

    @property
    def used_tokens(self) -> int:
        """Tokens of all requests in a queue."""
        return sum(self._contexts.values())

    @property
    def decoded(self) -> int:
        """Tokens generated so far."""
        return self._counts["decode"]

    @property
    def throughput(self) -> float:
        """Tokens generated per second, over the last second or so."""
        since, tokens, rate = self._rate
        elapsed = time.monotonic() - since
        if elapsed >= 1:
            rate = (self.decoded - tokens) / elapsed
            self._rate = (time.monotonic(), self.decoded, rate)
        return rate

    def length(self, queue: str) -> int:
        """Requests in a queue."""
        return len(self._queues[queue])

    def move(self, rid: str, queue: str | None, context: int = 0) -> None:
        """Put a request into a queue, and out of the one it was in."""
        for members in self._queues.values():
            members.discard(rid)
        if queue is None:
            self._contexts.pop(rid, None)
        else:
            self._queues[queue].add(rid)
            self._contexts[rid] = context
        self._on_change()

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self._counts[name] += number
        self._on_change()

    def grew(self, rid: str, context: int) -> None:
        """A running request got a token."""
        self._contexts[rid] = context
        self._counts["forward_passes"] += 1
        self.count("decode")

    def transferred(self, tokens: int, *, bootstrap_s: float, transfer_s: float) -> None:
        """One KV transfer is done."""
        size = tokens * _KV_BYTES_PER_TOKEN
        speed = size / max(transfer_s, 1e-6) / 1e9
        self._last_transfer = (speed, transfer_s * 1e3)
        for name, value in (
            ("kv_transfer_latency_ms", transfer_s * 1e3),
            ("kv_transfer_bootstrap_ms", bootstrap_s * 1e3),
            ("kv_transfer_alloc_ms", 0.0),
            ("kv_transfer_total_mb", size / 1e6),
            ("kv_transfer_speed_gb_s", speed),
        ):
            self._observe(name, value)
        self._on_change()

    def _observe(self, name: str, value: float) -> None:
        row = self._observed[name]
        for index, bound in enumerate(BUCKETS[name]):
            row[index] += value <= bound
        row[-2] += 1
        row[-1] += value

    def snapshot(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "queues": {name: len(members) for name, members in self._queues.items()},
            "used_tokens": self.used_tokens,
            "counts": self._counts,
            "observed": self._observed,
            "kv_transfer_speed_gb_s": self._last_transfer[0],
            "kv_transfer_latency_ms": self._last_transfer[1],
            "gen_throughput": self.throughput,
            "timestamp": time.time(),
        }
