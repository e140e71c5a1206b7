"""POST /generate, SGLang's own way to ask for tokens."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from . import tokens
from .job import Job, RefusedError
from .naming import VERSION
from .service import Answer, Service
from .web import Request, Response, as_json

log = logging.getLogger(__name__)

_DEFAULT_LIMIT: Final = 128  # sglang/srt/sampling/sampling_params.py


def error(failure: RefusedError) -> Response:
    """A failure in the shape of SGLang's own endpoints."""
    return as_json({"error": {"message": str(failure)}, "simulator": VERSION}, failure.status)


async def generate(service: Service, request: Request) -> Response:
    """Answer a text, a list of ids, or a batch of either; streamed or not. Raises RefusedError."""
    body = request.json()
    prompts = _prompts(body)
    jobs = _jobs(service, body, prompts)
    if body.get("stream"):
        if len(jobs) != 1:
            raise RefusedError("The simulator does not stream batches.")
        answer = service.start(jobs[0])
        try:
            await answer.advance()
        except BaseException:
            await answer.close()
            raise
        return Response(events=_stream(service, answer))
    outputs = await asyncio.gather(*(_complete(service, job) for job in jobs))
    return as_json(outputs if _is_batch(body) else outputs[0])


def _is_batch(body: Mapping[str, Any]) -> bool:
    text, ids = body.get("text"), body.get("input_ids")
    return isinstance(text, list) or (isinstance(ids, list) and bool(ids) and isinstance(ids[0], list))


def _prompts(body: Mapping[str, Any]) -> list[list[int]]:
    text, ids = body.get("text"), body.get("input_ids")
    if text is not None and ids is None:
        return [tokens.encode(part) for part in (text if isinstance(text, list) else [text])]
    if ids is not None and text is None:
        return ids if _is_batch(body) else [ids]
    raise RefusedError("Either text, input_ids or input_embeds should be provided.")


def _jobs(service: Service, body: Mapping[str, Any], prompts: list[list[int]]) -> list[Job]:
    limit = (body.get("sampling_params") or {}).get("max_new_tokens", _DEFAULT_LIMIT)
    rooms = body.get("bootstrap_room")
    if not _is_batch(body):
        return [service.job(body, prompts[0], limit, room=rooms)]
    each = rooms if isinstance(rooms, list) else [rooms] * len(prompts)
    shared = {key: value for key, value in body.items() if key != "rid"}
    return [service.job(shared, prompt, limit, room=room) for prompt, room in zip(prompts, each, strict=True)]


async def _complete(service: Service, job: Job) -> dict[str, Any]:
    answer = service.start(job)
    try:
        await answer.complete()
    finally:
        await answer.close()
    service.count(answer, streaming=False)
    return _output(answer)


def _output(answer: Answer) -> dict[str, Any]:
    meta = {
        "id": answer.job.rid,
        "finish_reason": answer.finish,
        "prompt_tokens": len(answer.job.prompt),
        "weight_version": "simulator",
        "num_retractions": 0,
        "reasoning_tokens": 0,
        "completion_tokens": len(answer.ids),
        "cached_tokens": answer.cached_tokens,
    }
    return {"text": tokens.decode(answer.ids), "output_ids": list(answer.ids), "meta_info": meta}


def _event(payload: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


async def _stream(service: Service, answer: Answer) -> AsyncGenerator[bytes, None]:
    """The answer so far after each token, as SGLang streams it; the last one says why it ended."""
    try:
        yield _event(_output(answer))
        while not answer.ended:
            await answer.advance()
            yield _event(_output(answer))
        service.count(answer, streaming=True)
    except RefusedError as failure:
        log.error("[http_server] Error: %s", failure)  # noqa: TRY400  # SGLang shows no traceback here
        problem = {"message": str(failure), "type": "invalid_request_error", "code": failure.status, "retryable": False}
        yield _event({"error": problem})
    finally:
        await answer.close()
    yield b"data: [DONE]\n\n"
