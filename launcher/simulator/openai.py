"""The OpenAI-compatible endpoints: models, chat completions and completions, streamed and not."""

import json
import logging
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple

from . import tokens
from .naming import VERSION
from .native import Answer, BadRequestError, Service
from .web import Request, Response, as_json

log = logging.getLogger(__name__)


class Shape(NamedTuple):
    """What tells chat completions and completions apart in an answer."""

    prefix: str
    whole: str
    chunk: str
    message: Callable[[str], dict[str, Any]]
    delta: Callable[[str], dict[str, Any]]
    opening: dict[str, Any] | None


CHAT = Shape(
    "chatcmpl-",
    "chat.completion",
    "chat.completion.chunk",
    lambda text: {"message": {"role": "assistant", "content": text, "reasoning_content": None}},
    lambda text: {"delta": {"content": text}},
    {"delta": {"role": "assistant", "content": ""}},
)
TEXT = Shape(
    "cmpl-", "text_completion", "text_completion", lambda text: {"text": text}, lambda text: {"text": text}, None
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


def error(failure: BadRequestError) -> Response:
    """An error in OpenAI's shape as SGLang writes it."""
    kind = "BadRequestError" if failure.status < 500 else "InternalServerError"
    body = {"object": "error", "message": str(failure), "type": kind, "param": None, "code": failure.status}
    return as_json({**body, "simulator": VERSION}, failure.status)


def _content(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    return str(value or "")


def chat_prompt(body: dict[str, Any]) -> list[int]:
    """The tokens of a conversation; a longer one begins with the tokens of a shorter one, as templates have it."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequestError("Messages cannot be empty.")
    turns = [f"<{message.get('role', 'user')}> {_content(message.get('content'))}\n" for message in messages]
    return tokens.encode("".join(turns) + "<assistant>")


def text_prompt(body: dict[str, Any]) -> list[int]:
    """The tokens of a completion's prompt, which may be text or ids."""
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return tokens.encode(prompt)
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) for token in prompt):
        return prompt
    raise BadRequestError("Prompt must be a text or a list of token ids.")


async def complete(
    service: Service, request: Request, shape: Shape, prompt_of: Callable[[dict[str, Any]], list[int]]
) -> Response:
    """POST /v1/chat/completions or /v1/completions."""
    body = request.json()
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    default = None if shape is CHAT else tokens.NATURAL_END
    answer = service.start(service.job(body, prompt_of(body), limit, default))
    try:
        first = await answer.advance()
        if not body.get("stream"):
            while await answer.advance() is not None:
                pass
            service.count(answer, streaming=False)
            return as_json(_whole(service, answer, shape))
    except BaseException:
        await answer.close()
        raise
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    events = _stream(service, answer, shape, first, usage=usage)
    return Response(200, b"", "text/event-stream; charset=utf-8", events)


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


def _choice(answer: Answer, content: dict[str, Any]) -> dict[str, Any]:
    reason = answer.finish["type"] if answer.finish else None
    return {"index": 0, **content, "logprobs": None, "finish_reason": reason, "matched_stop": None}


def _whole(service: Service, answer: Answer, shape: Shape) -> dict[str, Any]:
    return {
        **_frame(service, answer, shape.whole, shape),
        "choices": [_choice(answer, shape.message(tokens.decode(answer.ids)))],
        "usage": _usage(service, answer),
        "metadata": {"weight_version": "simulator"},
    }


def _event(payload: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


async def _stream(
    service: Service, answer: Answer, shape: Shape, first: int | None, *, usage: bool
) -> AsyncGenerator[bytes, None]:
    frame = _frame(service, answer, shape.chunk, shape)
    try:
        if shape.opening is not None:
            yield _event({**frame, "choices": [_choice(answer, shape.opening)], "usage": None})
        token = first
        while token is not None:
            text = tokens.decode([token], len(answer.ids) - 1)
            yield _event({**frame, "choices": [_choice(answer, shape.delta(text))], "usage": None})
            token = await answer.advance()
        yield _event({**frame, "choices": [_choice(answer, shape.delta(""))], "usage": None})
        if usage:
            yield _event({**frame, "choices": [], "usage": _usage(service, answer)})
        service.count(answer, streaming=True)
    except BadRequestError as failure:
        yield _event({"error": json.loads(error(failure).body)})
    finally:
        await answer.close()
    yield b"data: [DONE]\n\n"
