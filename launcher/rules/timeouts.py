"""PD118-PD119: the inner one gives up first, so that nobody waits for a request that is already lost."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.rules.rule import Hit, Rule
from launcher.rules.view import View, pair, service

_ROUTER_REQUEST = 1800.0
"""Seconds; sglang-router 0.3.2's own request-timeout-secs."""
_ENGINE_WAITS = {"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": 300.0, "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": 300.0}
"""Seconds that SGLang 0.5.23 waits by itself, environ.py:759-763."""
_ROUTER_HEALTH = 5.0
_ENGINE_HEALTH = 20.0


def router_gives_up_first(view: View) -> Iterator[Hit]:
    """A router that ends requests while a server still waits for their other half."""
    for router in view.of("router"):
        limit = router.number("args", "request-timeout-secs") or _ROUTER_REQUEST
        for server in view.of("prefill", "decode"):
            for name, usual in _ENGINE_WAITS.items():
                waits = server.number("env", name) or usual
                if waits >= limit:
                    error = (
                        f"the engine waits {waits:g} s for the other half of a request, the router ends it after "
                        f"{limit:g} s; client > router > engine, so that the inner one fails first"
                    )
                    written = name in server.env
                    name_, section = (name, "env") if written else ("request-timeout-secs", "args")
                    write = f"{name}: {limit / 2:.0f}" if written else f"request-timeout-secs: {waits * 4:.0f}"
                    yield Hit(server.name if written else router.name, section, name_, error, write)


def router_doubts_first(view: View) -> Iterator[Hit]:
    """A router that takes a server for dead while the server's own check still waits for a long prompt."""
    for router in view.of("router"):
        written = router.number("args", "health-check-timeout-secs")
        for server in view.of("prefill", "decode", "aggregated"):
            own = server.number("env", "SGLANG_HEALTH_CHECK_TIMEOUT")
            limit, wait = written or _ROUTER_HEALTH, own or _ENGINE_HEALTH
            if (written or own) and limit <= wait:
                error = (
                    f"the router gives a server {limit:g} s, {server.name} takes up to {wait:g} s to answer: "
                    "a long prompt looks like a dead server"
                )
                yield Hit(
                    router.name, "args", "health-check-timeout-secs", error, f"health-check-timeout-secs: {wait + 10:g}"
                )


RULES = (
    Rule(
        code="PD118",
        title="time-outs grow outward: client > router > engine",
        source="https://github.com/sgl-project/sglang/pull/32267; router_args.py:63 of sglang-router 0.3.2",
        check=router_gives_up_first,
        good=pair(
            decode=service("decode", env={"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "900"}),
            router=service("router", {"request-timeout-secs": "3600"}),
        ),
        bad=pair(
            decode=service("decode", env={"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "900"}),
            router=service("router", {"request-timeout-secs": "600"}),
        ),
    ),
    Rule(
        code="PD119",
        title="the router's health check waits longer than the server's own",
        source="SGLang 0.5.23, entrypoints/http_server.py:218; https://github.com/sgl-project/sglang/issues/22511",
        check=router_doubts_first,
        good=pair(
            prefill=service("prefill", env={"SGLANG_HEALTH_CHECK_TIMEOUT": "120"}),
            router=service("router", {"health-check-timeout-secs": "130"}),
        ),
        bad=pair(
            prefill=service("prefill", env={"SGLANG_HEALTH_CHECK_TIMEOUT": "120"}),
            router=service("router", {"health-check-timeout-secs": "5"}),
        ),
        severity="warning",
    ),
)
