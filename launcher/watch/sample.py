"""What is read of a deployment in one look: plain numbers, as they were said, with the time at which they were read.

Names and meanings are SGLang's (0.5.23: srt/managers/load_snapshot.py, srt/observability/metrics_collector.py) and
sglang-router's (0.3.2). Counters begin at zero with the process; whoever subtracts two of them compares `pid` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Answer: TypeAlias = Literal["yes", "refused", "silent"]
"""``refused``: nobody listens on the port. ``silent``: somebody does, and says nothing in time."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One scheduler's line of ``/v1/loads``."""

    rank: int = 0
    looked: float = 0.0
    """When the scheduler last wrote this line, seconds since the epoch: it does so in each round, idle or not, and a
    scheduler that stands still does not."""
    running: int = 0
    """Of a prefill always 0: what it computes is in no queue of its line."""
    waiting: int = 0
    """Received with their KV where they need one, and not running yet."""
    bootstrap: int = 0
    """Of a prefill: waiting for their decode to answer."""
    inflight: int = 0
    """Of a prefill: computed, their KV on its way or about to be."""
    prealloc: int = 0
    """Of a decode: waiting for room."""
    transfer: int = 0
    """Of a decode: waiting for their KV to arrive."""
    retracted: int = 0
    """Of a decode: thrown out for lack of room, to be resumed."""
    used_tokens: int = 0
    capacity_tokens: int = 0
    steps: float = 0.0
    """Counter of decode steps; 0 where the server does not say."""
    prefilled: int = 0
    """Counter of prompt tokens that were computed."""

    @property
    def requests(self) -> int:
        """Every request that the server has."""
        return self.running + self.own + self.between

    @property
    def own(self) -> int:
        """Waiting for nobody but this server."""
        return self.waiting + self.retracted

    @property
    def between(self) -> int:
        """Waiting for the other half of the pair as well."""
        return self.bootstrap + self.inflight + self.prealloc + self.transfer


@dataclass(frozen=True, slots=True)
class Spread:
    """A histogram of Prometheus, over all its labels."""

    count: float = 0.0
    sum: float = 0.0


@dataclass(frozen=True, slots=True)
class Counters:
    """What is read of a server's ``/metrics``; each summed over its labels, and since the process began."""

    decoded: float = 0.0
    """Tokens generated, counted in each step: ``realtime_tokens_total{mode="decode"}``."""
    computed: float = 0.0
    """Prompt tokens computed, counted in each chunk: ``mode="prefill_compute"``."""
    cached: float = 0.0
    """Prompt tokens found in a cache: ``mode="prefill_cache"``."""
    passes: float = 0.0
    """Forward passes: ``cuda_graph_passes_total``."""
    transfers: float = 0.0
    """KV transfers done: ``kv_transfer_latency_ms_count``."""
    moved_mb: float = 0.0
    """``kv_transfer_total_mb_sum``."""
    transfers_failed: float = 0.0
    """``num_transfer_failed_reqs_total`` and ``num_bootstrap_failed_reqs_total``."""
    finished: float = 0.0
    """Requests that ended: ``num_requests_total``."""
    open: float = 0.0
    """Requests for tokens that the server's HTTP side has not answered, whether its scheduler knows them or not."""
    aborted: float = 0.0
    """``num_aborted_requests_total``."""
    prompt_tokens: float = 0.0
    """Of finished requests."""
    generated_tokens: float = 0.0
    """Of finished requests."""
    prompts: Mapping[float, float] = field(default_factory=dict)
    """Finished requests by prompt length: tokens to how many had at most as many; ``prompt_tokens_histogram``."""
    first_token: Spread = Spread()
    """Seconds: ``time_to_first_token_seconds``."""
    whole: Spread = Spread()
    """Seconds: ``e2e_request_latency_seconds``."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a service."""

    pid: int
    started: int
    """Clock ticks since boot; with the pid it names the process for ever."""
    name: str
    """``sglang::scheduler``, as it calls itself."""
    stopped: bool = False
    """Whether SIGSTOP or a debugger holds it."""

    def same(self, other: Process) -> bool:
        """Whether it is the very same process, whatever state it is in."""
        return (self.pid, self.started) == (other.pid, other.started)


@dataclass(frozen=True, slots=True)
class Body:
    """The processes of a service."""

    main: Process
    since: float
    """Start of the main process, seconds since the epoch."""
    workers: tuple[Process, ...] = ()
    """What lives as long as the server: schedulers, detokenizer."""
    lost: tuple[Process, ...] = ()
    """Workers of this main process that are gone while it still runs."""
    compiling: str | None = None
    """A compiler that runs below it, such as ``nvcc``: a kernel that is built is no hang."""


@dataclass(frozen=True, slots=True)
class Server:
    """One look at a server."""

    at: float
    """Monotonic clock, seconds: when the look began. For differences."""
    body: Body | None = None
    """None where it has no process."""
    answer: Answer = "refused"
    ready: bool = True
    """Whether it has been ready since its process began: before that it loads and warms up."""
    ranks: tuple[Rank, ...] = ()
    """As last said; empty where it never did."""
    ranks_at: float = 0.0
    """When `ranks` were said, monotonic."""
    counters: Counters = Counters()
    """As last said: a busy server is asked in each look, an idle one every few."""
    counters_at: float = 0.0
    """When `counters` were said, monotonic; 0 where never."""

    @property
    def pid(self) -> int | None:
        """The main process, which counters belong to."""
        return self.body.main.pid if self.body else None

    @property
    def running(self) -> int:
        """Requests running, over all ranks; a prefill of a pair never says any."""
        return sum(rank.running for rank in self.ranks)

    @property
    def requests(self) -> int:
        """Every request that it has, over all ranks."""
        return sum(rank.requests for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class Worker:
    """A server as the router sees it."""

    url: str
    circuit: int = 0
    """``smg_worker_cb_state``: 0 closed, 1 open, 2 half open."""
    healthy: bool = True
    active: int = 0
    """Requests that the router has sent it and that have not ended: ``smg_worker_requests_active``."""


@dataclass(frozen=True, slots=True)
class Router:
    """One look at the router."""

    at: float
    body: Body | None = None
    answer: Answer = "refused"
    workers: tuple[Worker, ...] = ()
    served: Spread = Spread()
    """Requests that ended, in seconds: ``smg_router_request_duration_seconds``."""
    refused: float = 0.0
    """Requests that ended with an error, as far as the router counts them."""

    @property
    def active(self) -> int:
        """The most requests that any worker has, which is how many wait for an answer: a pair gets each twice."""
        return max((worker.active for worker in self.workers), default=0)


@dataclass(frozen=True, slots=True)
class Look:
    """The whole deployment in one look."""

    at: float
    """Monotonic clock, seconds."""
    time: float
    """Seconds since the epoch."""
    generation: int
    """The current one, that `servers` belong to."""
    servers: Mapping[str, Server]
    router: Router | None = None
    changing: str | None = None
    """Who is changing the deployment now, in words; then nothing is judged."""
    stopped: bool = False
    """Whether somebody took it down: then nothing of it is missed."""
