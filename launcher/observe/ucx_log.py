"""What UCX and NIXL print about a transfer: the transport that they really use, and what they complain about."""

from __future__ import annotations

import re

_TITLE = re.compile(r"(?P<kind>intra-node|inter-node|self) cfg#\d+")
_ROW = re.compile(r"\|\s*(?P<range>\d+(?:\.\.\S+)?)\s*\|\s*(?P<how>[^|]+?)\s*\|\s*(?P<lane>[^|]+?)\s*\|")
_TROUBLE = re.compile(r"(?:UCX\s+(?:WARN|ERROR)|NIXL\s+ERROR|\bE\d{4} .*?\])\s+(?P<text>.*)")


def lane(log: str) -> tuple[str | None, str | None]:
    """What UCX chose for large writes to the other process, and how, as it tells with UCX_PROTO_INFO=y.

    ``("tcp/lo", "zero-copy")``; None where it did not say. Its tables: openucx/ucx, src/ucp/proto/proto_debug.c.
    """
    between = writes = False
    found: tuple[str | None, str | None] = None, None
    for line in log.splitlines():
        if title := _TITLE.search(line):
            between, writes = title["kind"] != "self", False
        elif "remote memory write by ucp_put" in line:
            writes = between
        elif "active message" in line or "ucp_get" in line:
            writes = False
        elif writes and (row := _ROW.search(line)) and row["range"].endswith("inf"):
            found = row["lane"], row["how"]
    return found


def complaints(log: str) -> tuple[str, ...]:
    """Lines of trouble without their time and place, each once, at most four."""
    found = dict.fromkeys(match["text"].strip() for line in log.splitlines() if (match := _TROUBLE.search(line)))
    return tuple(found)[:4]
