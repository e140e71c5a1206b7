import asyncio
import json
from typing import Any

from launcher.simulator.arguments import parse
from launcher.simulator.bootstrap import QUERY_ALL, QUERY_FIRST, Registry
from launcher.simulator.registration import row
from launcher.simulator.web import Request, Response


def ask(registry: Registry, method: str, target: str, body: object = None) -> Response:
    path, _, query = target.partition("?")
    pairs = dict(pair.split("=") for pair in query.split("&") if pair)
    return asyncio.run(registry.handle(Request(method, path, pairs, {}, json.dumps(body).encode())))


def rank(port: int, rank_port: int, *args: str) -> dict[str, Any]:
    return row(parse(["--model-path", "tiny", "--port", str(port), *args]), "127.0.0.1", rank_port)


def test_health_and_unknown_paths() -> None:
    assert ask(Registry(), "GET", "/health").body == b"OK"
    assert ask(Registry(), "GET", "/other").status == 404
    assert ask(Registry(), "DELETE", "/route").status == 405


def test_nobody_is_known_before_a_registration() -> None:
    assert ask(Registry(), "GET", QUERY_ALL).status == 503
    assert ask(Registry(), "GET", "/route?prefill_dp_rank=-1").status == 400


def test_the_layout_and_the_rank_are_told() -> None:
    registry = Registry()
    assert ask(registry, "PUT", "/route", rank(31000, 40000, "--tp-size", "4", "--page-size", "256")).status == 200
    layout = json.loads(ask(registry, "GET", QUERY_ALL).body)
    told = {key: layout[key] for key in ("attn_tp_size", "page_size", "kv_cache_dtype", "prefill_http_port")}
    assert told == {"attn_tp_size": 4, "page_size": 256, "kv_cache_dtype": "bfloat16", "prefill_http_port": 31000}
    assert "simulator" in layout["simulator"]
    assert json.loads(ask(registry, "GET", QUERY_FIRST).body) == {"rank_ip": "127.0.0.1", "rank_port": 40000}


def test_a_second_prefill_takes_the_rank_but_not_the_layout() -> None:
    registry = Registry()
    ask(registry, "PUT", "/route", rank(31000, 40000))
    ask(registry, "PUT", "/route", rank(32000, 41000))
    assert json.loads(ask(registry, "GET", QUERY_ALL).body)["prefill_http_port"] == 31000
    assert json.loads(ask(registry, "GET", QUERY_FIRST).body)["rank_port"] == 41000
