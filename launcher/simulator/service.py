"""What all endpoints of a server share: its settings and state, and requests under way."""

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

_MAX_ID: Final = 2**32 - 1


class Answer:
    """One request under way: its tokens are drawn one by one, so that an early failure is still an HTTP status."""

    def __init__(self, job: Job, updates: AsyncGenerator[Update, None]) -> None:
        self.job = job
        self.ids: list[int] = []
        self.cached_tokens = 0
        self.finish: dict[str, Any] | None = None
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
