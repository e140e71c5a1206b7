"""What Prometheus is told, word for word, and that hostile names cannot break the format."""

from __future__ import annotations

import datetime as dt
import re

from hypothesis import given
from hypothesis import strategies as st

from launcher.store.served import Served
from launcher.watch import Body, Finding, Look, Process, Rank, Router, Server, Verdict, Worker
from launcher.watch import Service as Standing
from launcher.watch.exposition import Known, page

BODY = Body(Process(4, 1, "python"), 1000.0)
DECODE = Server(1.0, BODY, "yes", ranks=(Rank(running=6, waiting=12), Rank(1, running=1, transfer=2)))
WORKER = Worker("http://127.0.0.1:31010", circuit=1, active=18)
LOOK = Look(1.0, 2000.0, 43, {"decode-0": DECODE}, Router(1.0, BODY, "yes", (WORKER,)))
HUNG = Finding("no-token", "decode-0", "hung", "no token for 12 s", 1988.0)
FLOOR = Finding("latency-floor:SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "decode-0", "warning", "", 0.0)
VERDICT = Verdict(2000.0, 43, "hung", {"decode-0": Standing("decode-0", "hung", 18, 1580.0)}, (HUNG, FLOOR))
THEN = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
KNOWN = Known(
    deployment="dsv4-flash",
    digest="8d21c4f0",
    names=("noon",),
    good=37,
    probe=65_536,
    context=262_144,
    served=Served(since=THEN, until=THEN, seconds=60.5, traffic=30.0, requests=19, longest=71_000, hangs=1),
    drift=0,
    evidence=1,
    restarts={"decode-0": 2},
    look_seconds=0.125,
    process={"process_cpu_seconds_total": 1.5},
)


def samples(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_what_is_told() -> None:
    decode, router = 'service="decode-0",role="decode"', 'service="router",role="router"'
    found = [line.replace('deployment="dsv4-flash"', "D").replace("pdlaunch_", "") for line in samples(told())]
    assert found == [
        "watch_last_look_timestamp_seconds{D} 2000",
        "watch_look_seconds{D} 0.125",
        "evidence{D} 1",
        "process_cpu_seconds_total{D} 1.5",
        'generation_info{D,generation="43",name="noon",digest="8d21c4f0"} 1',
        "generation{D} 43",
        "good_generation{D} 37",
        *(
            f'state{{D,state="{state}"}} {int(state == "hung")}'
            for state in ("idle", "busy", "loading", "degraded", "hung", "dead", "changing", "stopped")
        ),
        'finding{D,signature="no-token",detail="",service="decode-0",weight="hung"} 1',
        'finding{D,signature="latency-floor",detail="SGLANG_DISAGGREGATION_WAITING_TIMEOUT",service="decode-0",'
        'weight="warning"} 1',
        "drift{D} 0",
        "context_tokens{D} 262144",
        'proven_tokens{D,by="probe"} 65536',
        'proven_tokens{D,by="traffic"} 71000',
        "generation_served_seconds{D} 60.5",
        "generation_traffic_seconds{D} 30",
        "generation_requests{D} 19",
        "generation_hangs{D} 1",
        "generation_deaths{D} 0",
        f"service_up{{D,{decode}}} 1",
        f"service_up{{D,{router}}} 1",
        f"service_hung{{D,{decode}}} 1",
        f"service_hung{{D,{router}}} 0",
        f"service_requests{{D,{decode}}} 18",
        f"service_requests{{D,{router}}} 18",
        f"service_last_token_age_seconds{{D,{decode}}} 422",
        f"service_restarts_total{{D,{decode}}} 2",
        f"service_restarts_total{{D,{router}}} 0",
        f'service_queue_requests{{D,{decode},queue="running"}} 7',
        f'service_queue_requests{{D,{decode},queue="waiting"}} 12',
        f'service_queue_requests{{D,{decode},queue="bootstrap"}} 0',
        f'service_queue_requests{{D,{decode},queue="inflight"}} 0',
        f'service_queue_requests{{D,{decode},queue="prealloc"}} 0',
        f'service_queue_requests{{D,{decode},queue="transfer"}} 2',
        f'service_queue_requests{{D,{decode},queue="retracted"}} 0',
        'router_circuit_open{D,worker="http://127.0.0.1:31010"} 1',
    ]


def told() -> str:
    return page(LOOK, VERDICT, KNOWN, now=2002.0)


def test_each_name_has_its_help_and_its_type_once() -> None:
    heads = re.findall(r"^# (HELP|TYPE) (\S+)", told(), re.MULTILINE)
    names = list(dict.fromkeys(line.partition("{")[0] for line in samples(told())))
    assert heads == [(word, name) for name in names for word in ("HELP", "TYPE")]


def test_before_the_first_look_the_watcher_tells_of_itself() -> None:
    assert samples(page(None, None, Known("d", process={"process_start_time_seconds": 5.0}), 1.0)) == [
        'pdlaunch_evidence{deployment="d"} 0',
        'process_start_time_seconds{deployment="d"} 5',
    ]


@given(st.text())
def test_no_name_breaks_a_line(name: str) -> None:
    known = Known("d", names=(name,))
    (info,) = [line for line in page(LOOK, VERDICT, known, 1.0).split("\n") if "generation_info{" in line]
    found = re.fullmatch(r'[^{]+\{deployment="d",generation="43",name="((?:[^"\\]|\\.)*)",digest=""\} 1', info, re.S)
    assert found is not None
    unescaped = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), found[1], flags=re.S)
    assert unescaped == name
