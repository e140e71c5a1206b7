"""What all endpoints of a server share: its settings and state, and requests under way."""

import math
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from .arguments import Settings
from .engine import Engine, Update
from .environ import Environment
from .job import FAKE_HOST, Job, RefusedError
from .tokens import NATURAL_END

LENGTHS: Final = (
    *(100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 12500, 15000, 17500),
    *(20000, 22500, 25000, 27500, 30000, 35000, 40000, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000),
    *(1000000, 1100000),
)
"""SGLang's own bounds, ``default_bucket_prompt_tokens`` in srt/observability/metrics_collector.py of 0.5.23."""
_MAX_ID: Final = 2**32 - 1
LATENCY_NAMES: Final = ("time_to_first_token_seconds", "e2e_request_latency_seconds")
LATENCIES: Final = (0.1, 0.2, 0.4, 0.8, 1.0, 2.0, 4.0, 8.0, 10.0, 20.0, 40.0, 80.0, 100.0, 200.0, 400.0, 600.0, 1200.0)
"""Upper bounds in seconds."""


class Lengths:
    """How many requests had up to so many tokens."""

    def __init__(self) -> None:
        self.counts = [0] * (len(LENGTHS) + 1)
        self.tokens = 0

    def observe(self, tokens: int) -> None:
        """Count one more."""
        self.tokens += tokens
        for index, bound in enumerate((*LENGTHS, math.inf)):
            self.counts[index] += tokens <= bound


class Answer:
    """One request under way: its tokens are drawn one by one, so that an early failure is still an HTTP status."""

    def __init__(self, job: Job, updates: AsyncGenerator[Update, None]) -> None:
        self.job = job
        self.ids: list[int] = []
        self.cached_tokens = 0
        self.finish: dict[str, Any] | None = None
        self.begun = time.time()
        self.first: float | None = None
        """When the first token came."""
        self._updates = updates

    @property
    def ended(self) -> bool:
        """Whether there are no more tokens to draw."""
        return self.finish is not None

    async def advance(self) -> None:
        """Draw one more token, or the reason why there is none; raises RefusedError when the request has failed."""
        update = await anext(self._updates)
        self.finish = update.finish
        if update.token is not None:
            self.first = self.first or time.time()
            self.ids.append(update.token)
            self.cached_tokens = update.cached_tokens
        if update.finish is not None and update.finish["type"] == "abort" and update.finish["status_code"]:
            raise RefusedError(update.finish["message"], update.finish["status_code"])

    async def complete(self) -> None:
        """Draw all tokens."""
        while not self.ended:
            await self.advance()

    async def close(self) -> None:
        """Leave; aborts what has not ended."""
        await self._updates.aclose()


class Service:
    """One server as its endpoints see it."""

    def __init__(self, settings: Settings, environment: Environment, engine: Engine) -> None:
        self.settings, self.environment, self.engine = settings, environment, engine
        self.up = False
        self.unhealthy = False
        self.leaving = False
        self.started = time.time()
        self.startup_s = 0.0
        self.finished: Counter[tuple[str, bool]] = Counter()
        self.lengths: dict[str, Lengths] = {"prompt_tokens": Lengths(), "generation_tokens": Lengths()}
        self.took: dict[str, list[float]] = {name: [0.0] * (len(LATENCIES) + 2) for name in LATENCY_NAMES}

    def ready(self) -> None:
        """The warm-up has passed."""
        self.up = True
        self.startup_s = time.time() - self.started

    def start(self, job: Job) -> Answer:
        """Hand a request to the scheduler."""
        return Answer(job, self.engine.generate(job))

    def job(self, body: Mapping[str, Any], prompt: list[int], limit: int | None, *, room: int | None = None) -> Job:
        """A request for the scheduler, checked as SGLang checks it; raises RefusedError."""
        context = self.settings.number("context_length")
        _check_tokens(prompt, limit)
        _check_length(len(prompt), limit, context)
        rid = str(body.get("rid") or os.urandom(16).hex())
        if rid in self.engine.running:
            raise RefusedError(f"Duplicate request ID detected: {rid}")
        job = Job(
            rid=rid,
            prompt=prompt,
            limit=min(NATURAL_END if limit is None else limit, context - len(prompt)),
            natural=limit is None,
        )
        if self.settings.role == "aggregated":
            return job
        if room is None:
            raise RefusedError(
                f"Invalid request: Disaggregated request received without bootstrap room id. req.rid={rid!r}"
            )
        port = body.get("bootstrap_port")
        port = self.settings.number("disaggregation_bootstrap_port") if port is None else int(port)
        if not 0 < port < 65536:
            raise RefusedError(f"bootstrap_port is no port: {port}")
        return job._replace(host=str(body.get("bootstrap_host") or FAKE_HOST), port=port, room=int(room))

    def count(self, answer: Answer, *, streaming: bool) -> None:
        """Count a finished request, as SGLang does only then."""
        for name, number in (
            ("num_requests", 1),
            ("prompt_tokens", len(answer.job.prompt)),
            ("generation_tokens", len(answer.ids)),
            ("cached_tokens", answer.cached_tokens),
            ("num_aborted_requests", int(answer.finish is not None and answer.finish["type"] == "abort")),
        ):
            self.finished[name, streaming] += number
            if name in self.lengths:
                self.lengths[name].observe(number)
        now = time.time()
        self._observe("e2e_request_latency_seconds", now - answer.begun)
        self._observe("time_to_first_token_seconds", (answer.first or now) - answer.begun)

    def _observe(self, name: str, seconds: float) -> None:
        row = self.took[name]
        for index, bound in enumerate(LATENCIES):
            row[index] += seconds <= bound
        row[-2] += 1
        row[-1] += seconds


def _check_tokens(prompt: list[int], limit: int | None) -> None:
    # What arrives is JSON, so that a list of ids may hold anything.
    if not prompt or not all(type(token) is int and 0 <= token <= _MAX_ID for token in prompt):
        raise RefusedError("The prompt must be at least one token, and token ids must be non-negative integers.")
    if limit is not None and (type(limit) is not int or limit < 0):
        raise RefusedError(f"max_new_tokens must be at least 0, got {limit}.")


def _check_length(prompt: int, limit: int | None, context: int) -> None:
    # The messages of sglang/srt/managers/tokenizer_manager.py, _validate_one_request.
    if prompt >= context:
        raise RefusedError(f"The input ({prompt} tokens) is longer than the model's context length ({context} tokens).")
    if limit is not None and limit + prompt > context:
        raise RefusedError(
            f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested a "
            f"total of {limit + prompt} tokens: {prompt} tokens from the input messages and {limit} tokens for the "
            f"completion. Please reduce the number of tokens in the input messages or the completion to fit within "
            f"the limit."
        )
