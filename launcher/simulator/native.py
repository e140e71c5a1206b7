"""SGLang's own endpoints: health, model and server information, /generate."""

import asyncio
import itertools
import json
import logging
import os
import time
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from . import kv, tokens
from .arguments import Settings
from .engine import Engine, Update
from .environ import Environment
from .naming import NOTICE, VERSION
from .scheduler import Job
from .web import Request, Response, as_json

log = logging.getLogger(__name__)

_DEFAULT_LIMIT = 128  # sglang/srt/sampling/sampling_params.py


class BadRequestError(Exception):
    """A request SGLang answers with an HTTP error; `status` says which."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Answer:
    """One request under way: primed, so that an error is still an HTTP status, then read to its end."""

    def __init__(self, job: Job, updates: AsyncGenerator[Update, None]) -> None:
        self.job = job
        self.ids: list[int] = []
        self.cached_tokens = 0
        self.finish: dict[str, Any] | None = None
        self._updates = updates

    async def advance(self) -> int | None:
        """The next token, or None at the end; raises BadRequestError when the request failed before its first token."""
        update = await anext(self._updates)
        if update.finish is None:
            self.ids.append(update.token)
            self.cached_tokens = update.cached_tokens
            return update.token
        self.finish = update.finish
        if update.finish["type"] == "abort" and update.finish.get("status_code"):
            raise BadRequestError(update.finish["message"], update.finish["status_code"])
        return None

    async def close(self) -> None:
        """Leave; aborts what has not ended."""
        await self._updates.aclose()

    def meta_info(self) -> dict[str, Any]:
        """SGLang's meta_info of the answer so far."""
        return {
            "id": self.job.rid,
            "finish_reason": self.finish,
            "prompt_tokens": len(self.job.prompt),
            "weight_version": "simulator",
            "num_retractions": 0,
            "reasoning_tokens": 0,
            "completion_tokens": len(self.ids),
            "cached_tokens": self.cached_tokens,
        }


class Service:
    """What all endpoints share: the settings, the scheduler, the state of the server."""

    def __init__(self, settings: Settings, environment: Environment, engine: Engine) -> None:
        self.settings, self.environment, self.engine = settings, environment, engine
        self.up = False
        self.unhealthy = False
        self.leaving = False
        self.started = time.time()
        self.startup_s = 0.0
        self.finished: dict[tuple[str, bool], int] = {}

    def ready(self) -> None:
        """The warm-up has passed."""
        self.up = True
        self.startup_s = time.time() - self.started

    def job(self, body: dict[str, Any], prompt: list[int], limit: int | None, default: int | None) -> Job:
        """A request for the scheduler, checked as SGLang checks it; raises BadRequestError."""
        context = self.settings.number("context_length")
        if len(prompt) >= context:
            raise BadRequestError(
                f"The input ({len(prompt)} tokens) is longer than the model's context length ({context} tokens)."
            )
        if limit is not None and limit + len(prompt) > context:
            raise BadRequestError(
                f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested "
                f"a total of {limit + len(prompt)} tokens: {len(prompt)} tokens from the input messages and {limit} "
                f"tokens for the completion. Please reduce the number of tokens in the input messages or the "
                f"completion to fit within the limit."
            )
        rid = str(body.get("rid") or uuid.uuid4().hex)
        host, port, room = body.get("bootstrap_host"), body.get("bootstrap_port"), body.get("bootstrap_room")
        if self.settings.role != "aggregated" and room is None:
            message = f"Invalid request: Disaggregated request received without bootstrap room id. req.rid={rid!r}"
            log.error(message)
            raise BadRequestError(message)
        return Job(
            rid=rid,
            prompt=prompt,
            limit=min(limit if limit is not None else (default or tokens.NATURAL_END), context - len(prompt)),
            natural=limit is None and default is None,
            host=str(host or "") if self.settings.role != "aggregated" else kv.FAKE_HOST,
            port=int(port or self.settings.number("disaggregation_bootstrap_port")),
            room=int(room or 0),
            is_health=False,
        )

    def start(self, job: Job) -> Answer:
        """Hand a request to the scheduler."""
        return Answer(job, self.engine.generate(job))

    def count(self, answer: Answer, *, streaming: bool) -> None:
        """Count a finished request, as SGLang does only then."""
        for name, number in (
            ("num_requests", 1),
            ("prompt_tokens", len(answer.job.prompt)),
            ("generation_tokens", len(answer.ids)),
            ("cached_tokens", answer.cached_tokens),
        ):
            self.finished[name, streaming] = self.finished.get((name, streaming), 0) + number


def error(failure: BadRequestError) -> Response:
    """The body of a failed /generate."""
    log.error("[http_server] Error: %s", failure)  # SGLang shows no traceback here
    return as_json({"error": {"message": str(failure)}, "simulator": VERSION}, failure.status)


async def generate(service: Service, request: Request) -> Response:
    """POST /generate: text or input_ids, streamed or not."""
    body = request.json()
    sampling = body.get("sampling_params") or {}
    limit = sampling.get("max_new_tokens", _DEFAULT_LIMIT)
    prompts = _prompts(body)
    jobs = [service.job(body if len(prompts) == 1 else {**body, "rid": None}, p, limit, None) for p in prompts]
    if body.get("stream"):
        if len(jobs) > 1:
            raise BadRequestError("The simulator does not stream batches.")
        answer = service.start(jobs[0])
        try:
            first = await answer.advance()
        except BaseException:
            await answer.close()
            raise
        return Response(200, b"", "text/event-stream; charset=utf-8", _stream(service, answer, first))
    results = await asyncio.gather(*(_complete(service, job) for job in jobs))
    return as_json(
        results if isinstance(body.get("text", body.get("input_ids")), list) and _is_batch(body) else results[0]
    )


def _is_batch(body: dict[str, Any]) -> bool:
    text, ids = body.get("text"), body.get("input_ids")
    return isinstance(text, list) or (isinstance(ids, list) and bool(ids) and isinstance(ids[0], list))


def _prompts(body: dict[str, Any]) -> list[list[int]]:
    text, ids = body.get("text"), body.get("input_ids")
    if text is not None and ids is None:
        return [tokens.encode(part) for part in (text if isinstance(text, list) else [text])]
    if ids is not None and text is None:
        return ids if _is_batch(body) else [ids]
    raise BadRequestError("Either text, input_ids or input_embeds should be provided.")


async def _complete(service: Service, job: Job) -> dict[str, Any]:
    answer = service.start(job)
    try:
        while await answer.advance() is not None:
            pass
    finally:
        await answer.close()
    service.count(answer, streaming=False)
    return _output(answer)


def _output(answer: Answer) -> dict[str, Any]:
    return {"text": tokens.decode(answer.ids), "output_ids": answer.ids, "meta_info": answer.meta_info()}


async def _stream(service: Service, answer: Answer, first: int | None) -> AsyncGenerator[bytes, None]:
    try:
        token = first
        while token is not None:
            output = _output(answer)
            token = await answer.advance()
            if token is None:
                output["meta_info"]["finish_reason"] = answer.finish
            yield b"data: " + json.dumps(output).encode() + b"\n\n"
        service.count(answer, streaming=True)
    except BadRequestError as failure:
        log.error("[http_server] Error: %s", failure)  # noqa: TRY400  # SGLang shows no traceback here
        problem = {"message": str(failure), "type": "invalid_request_error", "code": failure.status, "retryable": False}
        yield b"data: " + json.dumps({"error": problem}).encode() + b"\n\n"
    finally:
        await answer.close()
    yield b"data: [DONE]\n\n"


_health_numbers = itertools.count()


async def health(service: Service, path: str) -> Response:
    """GET /health and /health_generate: one token through the scheduler, or 503."""
    if service.leaving:
        log.info("Health check request received during shutdown. Returning 503.")
        return Response(503)
    if not service.up and not service.unhealthy:
        return Response(503)
    if path == "/health" and not service.environment.health_generates:
        return Response(200)
    begun = time.time()
    answer = service.start(health_job())
    heard = asyncio.create_task(answer.advance())
    try:
        while time.time() < begun + service.environment.health_timeout_s:
            await asyncio.wait((heard,), timeout=0.25)
            if heard.done() or service.engine.last_receive > begun:
                service.up, service.unhealthy = True, False
                return Response(200)
    finally:
        heard.cancel()
        await asyncio.gather(heard, return_exceptions=True)
        await answer.close()
        service.engine.forget(answer.job.rid)
    clock = time.strftime("%H:%M:%S", time.localtime(service.engine.last_receive))
    log.error(
        "Health check failed. Server couldn't get a response from detokenizer for last %g seconds. tic start time: %s. "
        "last_heartbeat time: %s",
        service.environment.health_timeout_s,
        time.strftime("%H:%M:%S", time.localtime(begun)),
        clock,
    )
    service.up, service.unhealthy = False, True
    return Response(503)


def health_job() -> Job:
    """The one-token request that SGLang sends itself."""
    rid = f"HEALTH_CHECK_{os.getpid()}_{next(_health_numbers)}"
    return Job(rid=rid, prompt=[0], limit=1, natural=False, host=kv.FAKE_HOST, port=0, room=0, is_health=True)


def model_info(service: Service) -> dict[str, Any]:
    """GET /model_info."""
    values = service.settings.values
    return {
        "model_path": values["model_path"],
        "served_model_name": values["served_model_name"],
        "tokenizer_path": values["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "simulator",
        "load_format": "simulator",
        "reasoning_parser": values["reasoning_parser"],
        "tool_call_parser": values["tool_call_parser"],
        "disaggregation_mode": values["disaggregation_mode"],
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": "simulator",
        "architectures": ["Simulator"],
        "simulator": NOTICE,
    }


async def server_info(service: Service) -> dict[str, Any]:
    """GET /server_info; asks the scheduler, so it hangs when that one does."""
    await service.engine.answers()
    values = service.settings.values
    state: dict[str, Any] = {
        "simulator": NOTICE,
        "disaggregation_mode": values["disaggregation_mode"],
        "effective_max_running_requests_per_dp": values["max_running_requests"],
        "last_gen_throughput": service.engine.snapshot.get("gen_throughput", 0.0),
        "memory_usage": {"weight": 0.0, "kvcache": 0.0, "graph": 0.0, "token_capacity": values["max_total_tokens"]},
    }
    if service.environment.expose_env:
        state["env_vars"] = dict(service.environment.own_variables)
    return {
        **values,
        **service.settings.unknown,
        "launch_command": service.settings.launch_command,
        "max_total_num_tokens": values["max_total_tokens"],
        "max_req_input_len": service.settings.number("context_length") - 6,
        "internal_states": [state],
        "version": VERSION,
        "simulator": NOTICE,
        "frontend": "python",
    }
