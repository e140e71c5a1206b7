"""How dangerous a change is: a table of kinds of change, the most dangerous first, each with the reason.

It knows names, not values: what is known of single knobs and values is the catalogue's (`said`), and comes before this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.compare.change import Change, Kind

if TYPE_CHECKING:
    from launcher.compare.said import Said


@dataclass(frozen=True, slots=True)
class Risk:
    """A kind of change, and what has been declared of this one."""

    rank: int
    """Of the kind; 0 is the most dangerous."""
    name: str
    why: str
    alarm: int = 2
    """0 where a value is known bad, 1 where nobody calls it safe: those come before every kind."""
    said: Said | None = None


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    why: str
    knobs: str = r"(?!)"
    """Names of flags and variables, upper case and with underscores."""
    others: Mapping[Kind, str] = field(default_factory=dict)
    """Names of other kinds, as they are written."""
    scope: str | None = None

    def has(self, change: Change) -> bool:
        if self.scope is not None and change.scope != self.scope:
            return False
        if change.kind in ("args", "env"):
            return re.search(self.knobs, change.name.upper().replace("-", "_")) is not None
        return change.kind in self.others and re.search(self.others[change.kind], change.name) is not None


_ANY = r""
_PLACES: Mapping[Kind, str] = {"service": _ANY, "ports": _ANY, "gpus": _ANY, "run": _ANY}
_ROUTER = _Class(
    "router",
    "in front of the engine: it can refuse or delay requests, it cannot hang decode",
    knobs=_ANY,
    others={"run": _ANY, "secrets": _ANY},
    scope="router",
)
_GIVING_UP = _Class(
    "time-outs",
    "when somebody gives up: it hangs nothing by itself, it cuts off or hides what hangs",
    knobs=r"TIMEOUT|TIME_OUT|KEEP_ALIVE|HEARTBEAT|INTERVAL|WATCHDOG|RETR(Y|IES)|MAX_FAILURE|CIRCUIT",
)
_RANKED = (
    _Class(
        "launch shape",
        "how many blocks a kernel launches: knobs of this kind hang only when the context is long, short requests pass",
        knobs=r"CTA|SPLIT|BLOCKS|NONPAGED|WARPS|NUM_SM|GRID|PERSISTENT|STAGES",
    ),
    _Class(
        "kernels",
        "which kernels run, or how much one step does: what is wrong here shows first when the context is long",
        knobs=r"BLOCK|CHUNK|CUDA_?GRAPH|ATTN|ATTENTION|FLASH|MLA|MMA|GEMM|MOE|TRITON|TOPK|INDEXER"
        r"|PAGE_SIZE|CONTEXT_LENGTH|PREFILL_TOKENS|SWA|SLIDING|SPECULATIVE|TORCH_COMPILE|_SM\d+|QUANTIZATION|DTYPE",
        others={
            "source": r"attention|/kernels?/|/jit/|/csrc/|flash|triton|moe/|quantization|cuda_graph|speculative",
            "package": r"^(torch|triton|tilelang|flashinfer|flash-|sgl-kernel|sglang-kernel|deep-?gemm|cuda-|cutlass"
            r"|nvidia-(?!ml)|apache-tvm-ffi)",
        },
    ),
    _Class(
        "transfer",
        "moves the KV cache between the roles or data between cards: what is wrong here stalls under load",
        knobs=r"UCX|NIXL|(^|_)MC_|MOONCAKE|NCCL|GLOO|DISAGGREGATION|BOOTSTRAP|ALL_?REDUCE|(^|_)IB(_|$)|RDMA|P2P|TRANSFER",
        others={
            "source": r"disaggregation|distributed|all_reduce|communicator",
            "package": r"^(nixl|mooncake|ucx|pyzmq)",
            "plan": r"^transfer$",
        },
    ),
    _Class(
        "memory",
        "decides how much fits: what is wrong here fails when requests are many or long",
        knobs=r"MEM_FRACTION|TOTAL_TOKENS|ALLOC_CONF|RUNNING_REQUESTS|POOL|HICACHE|OFFLOAD|RADIX|EXTRA_SLOTS|EVICT|MEMORY"
        r"|QUEUED_REQUESTS|RETRACT|SCHEDULE",
        others={"source": r"mem_cache|allocator|schedule"},
    ),
    _Class(
        "machine",
        "lies below every service, and no rollback brings it back",
        others={"receipt": _ANY},
    ),
    _Class(
        "places",
        "which processes run on which cards and ports",
        knobs=r"^(TP|DP|EP|PP)(_SIZE)?$|GPU_ID|CUDA_VISIBLE|CUDA_DEVICE|NUMA",
        others=_PLACES,
    ),
    _Class(
        "engine",
        "of no kind that is known for hanging",
        knobs=_ANY,
        others={"source": _ANY, "package": _ANY, "secrets": _ANY, "plan": r"^(engine|model)\."},
    ),
)
_DECIDED = _Class(
    "decided",
    "what the engine made of the rest by itself: a consequence, no cause",
    others={"decided": _ANY},
)
_AROUND = _Class(
    "around",
    "what pdlaunch does around the services; nothing that serves reads it",
    others={"plan": _ANY, "file": _ANY},
)
_ORDER = (*_RANKED[:-1], _GIVING_UP, _RANKED[-1], _ROUTER, _DECIDED, _AROUND)
_RISKS = {kind.name: Risk(rank, kind.name, kind.why) for rank, kind in enumerate(_ORDER)}
_ASKED = (_ROUTER, _GIVING_UP, *_RANKED, _DECIDED, _AROUND)
"""A name with TIMEOUT in it is a time-out whatever else it names, and nothing that only the router reads is more."""


def risk_of(change: Change) -> Risk:
    """The kind of change that it is; pure, and the same from both sides."""
    return _RISKS[next(kind.name for kind in _ASKED if kind.has(change))]
