"""PD301-PD303: sizes that fit each other."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.rules.rule import Hit, Rule
from launcher.rules.view import ServiceView, View, pair, service

_CLIFF = 32
"""Running requests per worker up to which a decode gets receive slots by itself."""


def chunk_off_the_page(view: View) -> Iterator[Hit]:
    """A prefill chunk that is no multiple of the page."""
    for server in view.of("prefill", "decode", "aggregated"):
        page = 256 if view.is_deepseek_v4 else server.number("args", "page-size")
        chunk = server.number("args", "chunked-prefill-size")
        if page and page > 0 and chunk and chunk > 0 and chunk % page:
            error = f"not a multiple of the page size, {page:g}: the engine refuses to start"
            nearest = max(page, round(chunk / page) * page)
            yield Hit(server.name, "args", "chunked-prefill-size", error, f"chunked-prefill-size: {nearest:.0f}")


def _workers(server: ServiceView) -> float:
    return server.number("args", "attn-dp-size") or 1


def no_receive_slots(view: View) -> Iterator[Hit]:
    """A decode just above the size up to which the engine adds receive slots."""
    for server in view.of("decode"):
        running = server.number("args", "max-running-requests")
        if running and running // _workers(server) > _CLIFF and "disaggregation-decode-extra-slots" not in server.args:
            error = (
                f"up to {_CLIFF} per worker the engine adds twice as many receive slots, above it none: "
                "transfers then wait for a running request to end"
            )
            most = _CLIFF * _workers(server)
            write = f"max-running-requests: {most:.0f}\nor disaggregation-decode-extra-slots: 64 beside it"
            yield Hit(server.name, "args", "max-running-requests", error, write)


def batches_outside_graphs(view: View) -> Iterator[Hit]:
    """A decode that may run more requests than its largest CUDA graph holds."""
    for server in view.of("decode", "aggregated"):
        running = server.number("args", "max-running-requests")
        graph = server.number("args", "cuda-graph-max-bs-decode")
        if running and graph and graph * _workers(server) < running:
            error = f"batches of more than {graph:g} run outside the CUDA graphs; up to {running:g} are admitted"
            write = f"cuda-graph-max-bs-decode: {running / _workers(server):.0f}"
            yield Hit(server.name, "args", "cuda-graph-max-bs-decode", error, write)


RULES = (
    Rule(
        code="PD301",
        title="chunked-prefill-size is a multiple of the page size",
        source="SGLang 0.5.23, check_server_args: measured, 4000 is refused for DeepSeek-V4, whose page is 256",
        check=chunk_off_the_page,
        good=pair(service("prefill", {"chunked-prefill-size": "4096"}), model="/models/DeepSeek-V4-Flash"),
        bad=pair(service("prefill", {"chunked-prefill-size": "4000"}), model="/models/DeepSeek-V4-Flash"),
    ),
    Rule(
        code="PD302",
        title="a decode keeps its receive slots",
        source="SGLang 0.5.23, arg_groups/pd_disaggregation_hook.py:137: measured, 32 gives 64 slots and 48 none",
        check=no_receive_slots,
        good=pair(decode=service("decode", {"max-running-requests": "32"})),
        bad=pair(decode=service("decode", {"max-running-requests": "33"})),
        severity="warning",
    ),
    Rule(
        code="PD303",
        title="every admitted batch fits a CUDA graph",
        source="SGLang 0.5.23, arg_groups/fields/exec_.py:629",
        check=batches_outside_graphs,
        good=pair(decode=service("decode", {"max-running-requests": "32", "cuda-graph-max-bs-decode": "32"})),
        bad=pair(decode=service("decode", {"max-running-requests": "32", "cuda-graph-max-bs-decode": "16"})),
        severity="warning",
    ),
)
