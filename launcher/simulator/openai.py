"""The OpenAI-compatible endpoints: models, chat completions and completions, streamed and not."""

import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final, NamedTuple

from . import tokens
from .job import RefusedError
from .naming import VERSION
from .service import Answer, Service
from .web import Request, Response, as_json


def _content(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    return str(value or "")


def _chat_prompt(body: dict[str, Any]) -> list[int]:
    # A longer conversation begins with the tokens of a shorter one, as chat templates have it.
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError("Messages cannot be empty.")
    turns = [f"<{message.get('role', 'user')}> {_content(message.get('content'))}\n" for message in messages]
    return tokens.encode("".join(turns) + "<assistant>")


def _text_prompt(body: dict[str, Any]) -> list[int]:
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return tokens.encode(prompt)
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) for token in prompt):
        return prompt
    raise RefusedError("Prompt must be a text or a list of token ids.")


class Shape(NamedTuple):
    """What tells chat completions and completions apart."""

    prompt: Callable[[dict[str, Any]], list[int]]
    prefix: str
    whole: str
    chunk: str
    message: Callable[[str], dict[str, Any]]
    delta: Callable[[str], dict[str, Any]]
    opening: dict[str, Any] | None


CHAT: Final = Shape(
    prompt=_chat_prompt,
    prefix="chatcmpl-",
    whole="chat.completion",
    chunk="chat.completion.chunk",
    message=lambda text: {"message": {"role": "assistant", "content": text, "reasoning_content": None}},
    delta=lambda text: {"delta": {"content": text}},
    opening={"delta": {"role": "assistant", "content": ""}},
)
TEXT: Final = Shape(
    prompt=_text_prompt,
    prefix="cmpl-",
    whole="text_completion",
    chunk="text_completion",
    message=lambda text: {"text": text},
    delta=lambda text: {"text": text},
    opening=None,
)


def models(service: Service) -> dict[str, Any]:
    """GET /v1/models."""
    return {"object": "list", "data": [model_card(service)]}


def model_card(service: Service) -> dict[str, Any]:
    """The one model that is served."""
    name = service.settings.values["served_model_name"]
    return {
        "id": name,
        "object": "model",
        "created": int(service.started),
        "owned_by": "pdlaunch-simulator",
        "root": name,
        "parent": None,
        "max_model_len": service.settings.values["context_length"],
    }


def error(failure: RefusedError) -> Response:
    """An error in OpenAI's shape as SGLang writes it."""
    kind = "BadRequestError" if failure.status < 500 else "InternalServerError"
    body = {"object": "error", "message": str(failure), "type": kind, "param": None, "code": failure.status}
    return as_json({**body, "simulator": VERSION}, failure.status)


async def complete(service: Service, request: Request, shape: Shape) -> Response:
    """POST /v1/chat/completions or /v1/completions; raises RefusedError."""
    body = request.json()
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    answer = service.start(service.job(body, shape.prompt(body), limit, room=body.get("bootstrap_room")))
    try:
        await answer.advance()
        if not body.get("stream"):
            await answer.complete()
            service.count(answer, streaming=False)
            return as_json(_whole(service, answer, shape))
    except BaseException:
        await answer.close()
        raise
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    return Response(events=_stream(service, answer, shape, usage=usage))


def _usage(service: Service, answer: Answer) -> dict[str, Any]:
    prompt, completion = len(answer.job.prompt), len(answer.ids)
    cached = {"cached_tokens": answer.cached_tokens} if service.settings.switch("enable_cache_report") else None
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": cached,
        "reasoning_tokens": 0,
    }


def _frame(service: Service, answer: Answer, kind: str, shape: Shape) -> dict[str, Any]:
    return {
        "id": shape.prefix + answer.job.rid,
        "object": kind,
        "created": int(time.time()),
        "model": service.settings.values["served_model_name"],
    }


def _choice(content: dict[str, Any], finish: dict[str, Any] | None = None) -> dict[str, Any]:
    reason = finish["type"] if finish else None
    return {"index": 0, **content, "logprobs": None, "finish_reason": reason, "matched_stop": None}


def _whole(service: Service, answer: Answer, shape: Shape) -> dict[str, Any]:
    return {
        **_frame(service, answer, shape.whole, shape),
        "choices": [_choice(shape.message(tokens.decode(answer.ids)), answer.finish)],
        "usage": _usage(service, answer),
        "metadata": {"weight_version": "simulator"},
    }


def _event(payload: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


async def _stream(service: Service, answer: Answer, shape: Shape, *, usage: bool) -> AsyncGenerator[bytes, None]:
    frame = _frame(service, answer, shape.chunk, shape)
    try:
        if shape.opening is not None:
            yield _event({**frame, "choices": [_choice(shape.opening)], "usage": None})
        sent = 0
        while sent < len(answer.ids) or not answer.ended:
            if sent == len(answer.ids):
                await answer.advance()
            text = tokens.decode(answer.ids[sent:], sent)
            sent = len(answer.ids)
            yield _event({**frame, "choices": [_choice(shape.delta(text))], "usage": None})
        yield _event({**frame, "choices": [_choice(shape.delta(""), answer.finish)], "usage": None})
        if usage:
            yield _event({**frame, "choices": [], "usage": _usage(service, answer)})
        service.count(answer, streaming=True)
    except RefusedError as failure:
        yield _event({"error": json.loads(error(failure).body)})
    finally:
        await answer.close()
    yield b"data: [DONE]\n\n"
