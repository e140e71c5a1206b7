"""What the watcher knows, as Prometheus reads it. Pure.

Text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/. Written here: a client library holds
counters of its own, and all that is told here is another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

from launcher.store.served import Served
from launcher.watch.sample import Look, Rank
from launcher.watch.verdict import State, Verdict

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_QUEUES = ("running", "waiting", "bootstrap", "inflight", "prealloc", "transfer", "retracted")


@dataclass(frozen=True, slots=True)
class Known:
    """What is told beside the looks."""

    deployment: str
    digest: str = ""
    """Of the generation."""
    names: tuple[str, ...] = ()
    good: int | None = None
    probe: int = 0
    """Tokens of the longest prompt of pdlaunch's own that was answered."""
    context: int | None = None
    served: Served | None = None
    drift: int | None = None
    """Differences between what runs and what was recorded; None where nobody looked yet."""
    evidence: int = 0
    """Folders of frozen evidence."""
    restarts: Mapping[str, int] = field(default_factory=dict)
    """How often each service came back with another main process though no operation was under way."""
    look_seconds: float = 0.0
    """How long the last look took."""
    process: Mapping[str, float] = field(default_factory=dict)
    """The watcher's own, under Prometheus' usual names."""


@dataclass(frozen=True, slots=True)
class _Family:
    name: str
    kind: str
    about: str
    samples: tuple[tuple[Mapping[str, str], float], ...]

    def lines(self, labels: Mapping[str, str]) -> Iterator[str]:
        yield f"# HELP {self.name} {_escape(self.about).replace(chr(34), '')}"
        yield f"# TYPE {self.name} {self.kind}"
        for own, value in self.samples:
            pairs = ",".join(f'{key}="{_escape(text)}"' for key, text in {**labels, **own}.items())
            yield f"{self.name}{{{pairs}}} {repr(value).removesuffix('.0')}"


def page(look: Look | None, verdict: Verdict | None, known: Known, now: float) -> str:
    """Everything as text; `now` in seconds since the epoch. Before the first look only of the watcher itself."""
    families = list(_of_watch(look, known))
    if look and verdict:
        families += [*_of_deployment(look, verdict, known), *_of_services(look, verdict, known, now)]
    labels = {"deployment": known.deployment}
    lines = [line for family in families if family.samples for line in family.lines(labels)]
    return "\n".join(lines) + "\n"


def _of_watch(look: Look | None, known: Known) -> Iterator[_Family]:
    if look:
        yield _gauge("pdlaunch_watch_last_look_timestamp_seconds", "When the watcher looked last.", look.time)
        yield _gauge("pdlaunch_watch_look_seconds", "How long the last look took.", known.look_seconds)
    yield _gauge("pdlaunch_evidence", "Folders of frozen evidence.", known.evidence)
    for name, value in known.process.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        yield _Family(name, kind, "Of the watcher's own process.", (({}, value),))


def _of_deployment(look: Look, verdict: Verdict, known: Known) -> Iterator[_Family]:
    info = {"generation": str(look.generation), "name": ",".join(known.names), "digest": known.digest}
    yield _Family("pdlaunch_generation_info", "gauge", "What runs: always 1.", ((info, 1.0),))
    yield _gauge("pdlaunch_generation", "Number of the current generation.", look.generation)
    if known.good is not None:
        yield _gauge("pdlaunch_good_generation", "Number of the generation that `good` means.", known.good)
    states = get_args(State)
    yield _Family(
        "pdlaunch_state",
        "gauge",
        "1 for the state of the deployment, 0 for the others.",
        tuple(({"state": state}, float(state == verdict.state)) for state in states),
    )
    yield _Family(
        "pdlaunch_finding",
        "gauge",
        "1 for each thing that is wrong.",
        tuple(
            ({"signature": name, "detail": detail, "service": f.service, "weight": f.weight}, 1.0)
            for f in verdict.findings
            for name, _, detail in [f.signature.partition(":")]
        ),
    )
    if known.drift is not None:
        yield _gauge("pdlaunch_drift", "Differences between what runs and what was recorded.", known.drift)
    if known.context:
        yield _gauge("pdlaunch_context_tokens", "Longest context that the profile allows.", known.context)
    proven = {"probe": known.probe, "traffic": known.served.longest if known.served else 0}
    yield _Family(
        "pdlaunch_proven_tokens",
        "gauge",
        "Longest context that the current generation completed, at least.",
        tuple(({"by": by}, float(tokens)) for by, tokens in proven.items()),
    )
    yield from _of_record(known.served)


def _of_record(row: Served | None) -> Iterator[_Family]:
    if row is None:
        return
    about = "of the current generation, by the watcher's record."
    yield _gauge("pdlaunch_generation_served_seconds", f"Time in service {about}", row.seconds)
    yield _gauge("pdlaunch_generation_traffic_seconds", f"Time with traffic {about}", row.traffic)
    yield _gauge("pdlaunch_generation_requests", f"Requests completed {about}", row.requests)
    yield _gauge("pdlaunch_generation_hangs", f"Hangs {about}", row.hangs)
    yield _gauge("pdlaunch_generation_deaths", f"Services that ended by themselves {about}", row.deaths)


def _of_services(look: Look, verdict: Verdict, known: Known, now: float) -> Iterator[_Family]:
    roles = {name: {"service": name, "role": name.partition("-")[0]} for name in look.servers}
    up = {name: server.answer == "yes" and server.ready for name, server in look.servers.items()}
    if look.router:
        roles["router"] = {"service": "router", "role": "router"}
        up["router"] = look.router.answer == "yes"
    hung = {finding.service for finding in verdict.hung}
    yield _per("pdlaunch_service_up", "1 where it is loaded and answers.", roles, up)
    yield _per("pdlaunch_service_hung", "1 where it hangs.", roles, {name: name in hung for name in roles})
    yield _per("pdlaunch_service_requests", "Requests that it has.", roles, _requests(look, verdict))
    ages = {name: now - s.progress for name, s in verdict.services.items() if s.progress is not None}
    yield _per("pdlaunch_service_last_token_age_seconds", "Time since it last got on with its work.", roles, ages)
    yield _per(
        "pdlaunch_service_restarts_total",
        "Times that it came back by itself since the watcher began.",
        roles,
        {name: known.restarts.get(name, 0) for name in roles},
        kind="counter",
    )
    yield _Family(
        "pdlaunch_service_queue_requests",
        "gauge",
        "Requests in each of its queues, as it said last.",
        tuple(
            ({**roles[name], "queue": queue}, float(_in_queue(server.ranks, queue)))
            for name, server in look.servers.items()
            for queue in _QUEUES
        ),
    )
    if look.router:
        yield _Family(
            "pdlaunch_router_circuit_open",
            "gauge",
            "1 where the router's circuit to a server is not closed.",
            tuple(({"worker": worker.url}, float(worker.circuit == 1)) for worker in look.router.workers),
        )


def _requests(look: Look, verdict: Verdict) -> Mapping[str, float]:
    """Of the router those that wait for an answer."""
    servers = {name: float(service.requests) for name, service in verdict.services.items()}
    return {**servers, "router": float(look.router.active)} if look.router else servers


def _in_queue(ranks: Iterable[Rank], queue: str) -> int:
    return sum(int(getattr(rank, queue)) for rank in ranks)


def _gauge(name: str, about: str, value: float) -> _Family:
    return _Family(name, "gauge", about, (({}, float(value)),))


def _per(
    name: str, about: str, roles: Mapping[str, Mapping[str, str]], values: Mapping[str, float], *, kind: str = "gauge"
) -> _Family:
    """One sample for each service that has a value."""
    return _Family(name, kind, about, tuple((roles[who], float(v)) for who, v in values.items() if who in roles))


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
