"""Faults a simulator shows on purpose, declared in the environment variable PDLAUNCH_SIM_FAULT.

The variable holds faults separated by commas; a fault is a word and its parts, separated by colons, in any order.

| fault | parts | what happens |
|---|---|---|
| `hang` | [after=N] | the scheduler stands still at the next request: no token, no health, TERM never drains |
| `hang` | CONTEXT | only requests whose context reaches CONTEXT stand still; short ones and /health pass |
| `no-token` | [after=N], [CONTEXT] | requests run for ever without a token while /health says 200 |
| `frozen-transfer` | [after=N] | the KV never arrives: both halves stay in their queues until SGLang's time-outs |
| `slow` | DURATION/token, [CONTEXT] | prefill: for each prompt token no cache has, decode: for each generated token |
| `slow` | DURATION, [CONTEXT] | once for each request |
| `crash` | after=N, after=DURATION or CONTEXT | the scheduler raises after N requests, after a time, at a context |
| `crash` | start | the scheduler raises while it loads |
| `exit0` | after=DURATION | the server leaves by itself with exit code 0 |
| `reject` | STATUS, [after=N] | requests for tokens are answered with that HTTP status |
| `ignore-term` | none | SIGTERM does nothing |
| `load` | DURATION | loading takes that long |

Every fault takes a role as a further part: `prefill`, `decode` or `aggregated`; without one it holds for all, so that
one value serves a whole deployment. `after=N` lets N requests pass first. CONTEXT counts tokens of prompt and answer:
`48k` is 48,000. DURATION is a number with `us`, `ms`, `s` or `m`. Examples: `hang:decode:48k`,
`slow:prefill:10ms/token`, `crash:decode:after=3`, `crash:start`, `exit0:after=2s`, `reject:decode:500`,
`load:5s,ignore-term`.

One fault has a name of its own in the field: SGLANG_SM120_MMA_TARGET_CTAS of 512 or more on a decode server is
`hang:decode:48k`.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple, Self

from .environ import Environment

ROLES: Final = ("prefill", "decode", "aggregated")
TARGET_CTAS_HANG: Final = 512
TARGET_CTAS_CONTEXT: Final = 48_000

_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
_DURATION: Final = r"(\d+(?:\.\d+)?)(us|ms|s|m)"

# kind -> the parts it takes; a part in capitals is a shape, the others stand as they are
_TAKES: Final[dict[str, frozenset[str]]] = {
    "hang": frozenset({"AFTER_COUNT", "CONTEXT"}),
    "no-token": frozenset({"AFTER_COUNT", "CONTEXT"}),
    "frozen-transfer": frozenset({"AFTER_COUNT"}),
    "slow": frozenset({"DURATION", "PER_TOKEN", "CONTEXT"}),
    "crash": frozenset({"AFTER_COUNT", "AFTER_TIME", "CONTEXT", "start"}),
    "exit0": frozenset({"AFTER_TIME"}),
    "reject": frozenset({"STATUS", "AFTER_COUNT"}),
    "ignore-term": frozenset(),
    "load": frozenset({"DURATION"}),
}
_NEEDS: Final[dict[str, frozenset[str]]] = {
    "slow": frozenset({"DURATION", "PER_TOKEN"}),
    "crash": frozenset({"AFTER_COUNT", "AFTER_TIME", "CONTEXT", "start"}),
    "exit0": frozenset({"AFTER_TIME"}),
    "reject": frozenset({"STATUS"}),
    "load": frozenset({"DURATION"}),
}


class FaultError(ValueError):
    """The text of PDLAUNCH_SIM_FAULT is not in the grammar above; the message is one line."""


class Fault(NamedTuple):
    """One fault of one role; durations in seconds, contexts in tokens, `after` counts requests."""

    kind: str
    role: str = ""
    context: int = 0
    seconds: float = 0.0
    per_token: bool = False
    after: int = 0
    after_s: float = 0.0
    status: int = 0
    at_start: bool = False


class Faults(NamedTuple):
    """The faults that hold for one server."""

    all: tuple[Fault, ...] = ()

    @classmethod
    def read(cls, environment: Environment, role: str) -> Self:
        """The faults of `role`; raises FaultError when the text is not in the grammar."""
        faults = parse(environment.fault)
        if environment.target_ctas >= TARGET_CTAS_HANG:
            faults += (Fault("hang", "decode", context=TARGET_CTAS_CONTEXT),)
        return cls(tuple(fault for fault in faults if fault.role in ("", role)))

    def of(self, kind: str) -> tuple[Fault, ...]:
        """The faults of one kind."""
        return tuple(fault for fault in self.all if fault.kind == kind)

    def due(self, kind: str, number: int) -> bool:
        """Whether the request of that number shows a fault that waits for requests, or for nothing."""
        return any(
            number > fault.after and not (fault.context or fault.after_s or fault.at_start) for fault in self.of(kind)
        )

    def reached(self, kind: str, context: int) -> bool:
        """Whether a request whose context has grown to `context` tokens shows a fault that waits for a context."""
        return any(0 < fault.context <= context for fault in self.of(kind))

    def delay(self, tokens: int, *, first: bool, context: int) -> float:
        """Seconds that `slow` adds to a step of that many tokens."""
        slow = [fault for fault in self.of("slow") if context >= fault.context]
        per_token = sum(fault.seconds for fault in slow if fault.per_token)
        per_request = sum(fault.seconds for fault in slow if not fault.per_token)
        return per_token * tokens + (per_request if first else 0.0)


def _seconds(match: re.Match[str]) -> float:
    return float(match[1]) * _UNITS[match[2]]


# shape -> what its text looks like, and what it says about a fault
_SHAPES: Final[dict[str, tuple[str, Callable[[Fault, re.Match[str]], Fault]]]] = {
    "ROLE": ("|".join(ROLES), lambda fault, m: fault._replace(role=m[0])),
    "start": ("start", lambda fault, _: fault._replace(at_start=True)),
    "AFTER_COUNT": (r"after=(\d+)", lambda fault, m: fault._replace(after=int(m[1]))),
    "AFTER_TIME": (f"after={_DURATION}", lambda fault, m: fault._replace(after_s=_seconds(m))),
    "DURATION": (_DURATION, lambda fault, m: fault._replace(seconds=_seconds(m))),
    "PER_TOKEN": (f"{_DURATION}/token", lambda fault, m: fault._replace(seconds=_seconds(m), per_token=True)),
    "STATUS": (r"[45]\d\d", lambda fault, m: fault._replace(status=int(m[0]))),
    "CONTEXT": (r"(\d+)(k?)", lambda fault, m: fault._replace(context=int(m[1]) * (1000 if m[2] else 1))),
}


def _parse_one(text: str) -> Fault:
    kind, *parts = text.split(":")
    if kind not in _TAKES:
        raise FaultError(f"unknown fault {kind!r}; known: {', '.join(_TAKES)}")
    fault = Fault(kind)
    shapes: set[str] = set()
    for part in parts:
        for shape in _TAKES[kind] | {"ROLE"}:
            pattern, apply = _SHAPES[shape]
            if match := re.fullmatch(pattern, part):
                break
        else:
            raise FaultError(f"{text!r}: {kind} takes no part {part!r}; {_allowed(kind)}")
        if shape in shapes:
            raise FaultError(f"{text!r}: {_SPELLING[shape]} is said twice")
        shapes.add(shape)
        fault = apply(fault, match)
    needs = _NEEDS.get(kind, frozenset())
    if needs and not needs & shapes:
        raise FaultError(f"{text!r}: {kind} needs one of {_spelled(needs)}")
    return fault


_SPELLING: Final = {
    "ROLE": "a role",
    "CONTEXT": "a context such as 48k",
    "DURATION": "a duration such as 5s",
    "PER_TOKEN": "a duration such as 10ms/token",
    "AFTER_COUNT": "after=3",
    "AFTER_TIME": "after=2s",
    "STATUS": "a status such as 503",
    "start": "start",
}


def _spelled(shapes: frozenset[str]) -> str:
    return ", ".join(_SPELLING[shape] for shape in sorted(shapes))


def _allowed(kind: str) -> str:
    return f"allowed: a role ({', '.join(ROLES)})" + "".join(f", {_SPELLING[s]}" for s in sorted(_TAKES[kind]))


def parse(text: str) -> tuple[Fault, ...]:
    """Read a list of faults; raises FaultError with one line that says what is allowed."""
    return tuple(_parse_one(part.strip()) for part in text.split(",")) if text.strip() else ()
