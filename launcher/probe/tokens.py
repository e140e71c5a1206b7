"""Asks for tokens as a client or as the router would, and judges what came back."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any

from launcher.observe.http import Answer, Endpoint
from launcher.probe.prompt import unseen

NEW_TOKENS = 4
"""Prefill makes the first token itself, so that only a second one proves that decode ran."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What one request proved, or why it did not."""

    path: str
    """``prefill-0 -> decode-0``, or ``through the router``."""
    prompt: int
    seconds: float
    failure: str | None = None
    cached: int = 0
    """Prompt tokens that a cache had; more than none proves less than was asked."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server to ask: its name, its address, and a prefill's bootstrap port."""

    name: str
    endpoint: Endpoint
    bootstrap: int | None = None


def ask_edge(prefill: Server, decode: Server, tokens: int, timeout: float) -> Proof:
    """Send both halves of one request, as the router does: the same body at the same time, with a room of its own.

    Names the half that failed first.
    """
    body = _body(tokens) | {
        "bootstrap_host": prefill.endpoint.host,
        "bootstrap_port": prefill.bootstrap,
        "bootstrap_room": random.SystemRandom().randrange(2**63),
    }
    answers: SimpleQueue[tuple[Server, Answer]] = SimpleQueue()

    def send(server: Server) -> None:
        answers.put((server, server.endpoint.post("/generate", body, timeout)))

    start = time.monotonic()
    for server in (prefill, decode):
        Thread(target=send, args=(server,), daemon=True).start()
    failure, cached = None, 0
    for server, answer in (answers.get() for _ in range(2)):
        failure = _failure(server.name, answer, tokens, NEW_TOKENS if server is decode else 0)
        if failure:
            break  # the other half may wait for minutes for this one, and then complain of it
        cached = _meta(answer).get("cached_tokens") or 0 if server is decode else cached
    return Proof(f"{prefill.name} -> {decode.name}", tokens, time.monotonic() - start, failure, cached)


def ask(server: Server, path: str, tokens: int, timeout: float) -> Proof:
    """Send one whole request to an aggregated server or to the router."""
    start = time.monotonic()
    answer = server.endpoint.post("/generate", _body(tokens), timeout)
    seconds = time.monotonic() - start
    failure = _failure(server.name, answer, tokens, NEW_TOKENS)
    return Proof(path, tokens, seconds, failure, _meta(answer).get("cached_tokens") or 0)


def ask_edges(prefills: Sequence[Server], decodes: Sequence[Server], tokens: int, timeout: float) -> tuple[Proof, ...]:
    """Ask on every prefill×decode edge, a few at a time."""
    edges = [(p, d) for p in prefills for d in decodes]
    with ThreadPoolExecutor(min(8, len(edges) or 1)) as pool:
        return tuple(pool.map(lambda edge: ask_edge(edge[0], edge[1], tokens, timeout), edges))


def _body(tokens: int) -> dict[str, Any]:
    return {
        "input_ids": unseen(tokens),
        "sampling_params": {"max_new_tokens": NEW_TOKENS, "temperature": 0, "ignore_eos": True},
    }


def _meta(answer: Answer) -> dict[str, Any]:
    body = answer.json()
    meta = body.get("meta_info") if isinstance(body, dict) else None
    return meta if isinstance(meta, dict) else {}


def _failure(name: str, answer: Answer, prompt: int, least: int) -> str | None:
    if answer.status == 0:
        return f"{name} did not answer: {answer.text}"
    if answer.status != 200:
        return f"{name} answered {answer.status}: {' '.join(answer.text.split())[:300]}"
    meta = _meta(answer)
    if meta.get("prompt_tokens") not in (prompt, prompt + 1):
        return f"{name} took {meta.get('prompt_tokens')} tokens of a prompt of {prompt}"
    if (meta.get("completion_tokens") or 0) < least:
        return f"{name} answered {meta.get('completion_tokens')} of {least} tokens"
    return None
