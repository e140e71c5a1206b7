"""A small HTTP/1.1 server on asyncio streams: keep-alive, chunked bodies both ways, server-sent events.

It answers in one task per connection, notices a client that leaves while its answer is being made (the handler is
cancelled then, as SGLang aborts such a request), and refuses an HTTP/2 preface politely: routers probe with one.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

_MAX_BODY: Final = 256 * 1024 * 1024
_HEADER_LIMIT: Final = 64 * 1024
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}


class Request(NamedTuple):
    """A request whose body has been read."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; raises ValueError when it is none."""
        return json.loads(self.body)


class Response(NamedTuple):
    """An answer: complete with `body`, or with `events` a stream of chunks sent as they come."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    """Of `body`; events are always text/event-stream."""
    events: AsyncGenerator[bytes, None] | None = None


Handler = Callable[[Request], Awaitable[Response]]


def as_json(payload: object, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(status, json.dumps(payload, ensure_ascii=False).encode(), "application/json")


class _MalformedError(Exception):
    """The bytes are no HTTP/1.1 request."""


class _Reader(asyncio.StreamReader):
    """A reader that also tells when the other side has gone, while nobody reads."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()


async def _read_head(reader: asyncio.StreamReader, idle_s: float) -> tuple[str, str, dict[str, str]]:
    # Until the next request begins the connection is idle, and SGLang's server drops idle ones.
    start = await asyncio.wait_for(reader.readexactly(1), idle_s)
    try:
        head = start + await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise _MalformedError from error
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    match first.split(" "):
        case [method, target, "HTTP/1.1" | "HTTP/1.0"]:
            pass
        case _:
            raise _MalformedError
    pairs = (line.partition(":") for line in lines)
    return method, target, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        parts = []
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return b"".join(parts)
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= _MAX_BODY:
        raise _MalformedError
    return await reader.readexactly(length)


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle_s: float) -> Request:
    method, target, headers = await _read_head(reader, idle_s)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        body = await _read_body(reader, headers)
        parts = urlsplit(target)
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise _MalformedError from error
    return Request(method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body)


class Server:
    """Serves one handler on one address until closed."""

    def __init__(self, handler: Handler, *, server_header: str, keep_alive_s: float) -> None:
        self._handler = handler
        self._keep_alive_s = keep_alive_s
        self._server_header = server_header
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> None:
        """Listen; raises OSError when the address is taken."""

        def protocol() -> asyncio.StreamReaderProtocol:
            reader = _Reader(_HEADER_LIMIT)
            return asyncio.StreamReaderProtocol(reader, lambda _, writer: self._accept(reader, writer))

        self._server = await asyncio.get_running_loop().create_server(protocol, host, port)

    @property
    def port(self) -> int:
        """The port it listens on; a started server only."""
        if self._server is None:
            raise RuntimeError("not started")
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and leave every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: _Reader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: _Reader, writer: asyncio.StreamWriter) -> None:
        try:
            keep = True
            while keep:
                request = await _read_request(reader, writer, self._keep_alive_s)
                keep = await self._answer(request, reader, writer)
        except _MalformedError:
            refusal = Response(400, b"Invalid HTTP request received.")
            self._head(writer, refusal, keep=False)
            writer.write(refusal.body)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: Request, reader: _Reader, writer: asyncio.StreamWriter) -> bool:
        keep = request.headers.get("connection", "").lower() != "close"
        work = asyncio.ensure_future(self._write(request, writer, keep=keep))
        gone = asyncio.ensure_future(reader.gone.wait())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            return keep and work.done() and work.result() is None
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _write(self, request: Request, writer: asyncio.StreamWriter, *, keep: bool) -> None:
        response = await self._handler(request)
        self._head(writer, response, keep=keep)
        if response.events is None:
            writer.write(b"" if request.method == "HEAD" else response.body)
        else:
            async with aclosing(response.events) as events:
                async for chunk in events:
                    writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                    await writer.drain()
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    def _head(self, writer: asyncio.StreamWriter, response: Response, *, keep: bool) -> None:
        streamed = response.events is not None
        content_type = "text/event-stream; charset=utf-8" if streamed else response.content_type
        lines = (
            f"HTTP/1.1 {response.status} {_PHRASES.get(response.status, '')}",
            f"server: {self._server_header}",
            f"content-type: {content_type}",
            "transfer-encoding: chunked" if streamed else f"content-length: {len(response.body)}",
            f"connection: {'keep-alive' if keep else 'close'}",
            "",
            "",
        )
        writer.write("\r\n".join(lines).encode("latin-1"))


async def ask(
    method: str, host: str, port: int, target: str, payload: object = None, *, timeout_s: float = 5.0
) -> tuple[int, bytes]:
    """One request on a connection of its own: status and body; raises OSError when nobody answers in time."""
    body = b"" if payload is None else json.dumps(payload).encode()
    head = f"{method} {target} HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-type: application/json\r\n"
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
            answer = await reader.read()
        finally:
            writer.close()
    top, _, rest = answer.partition(b"\r\n\r\n")
    words = top.split(b"\r\n")[0].split(b" ")
    if len(words) < 2 or not words[1].isdigit():
        raise ConnectionError(f"{host}:{port} does not answer in HTTP")
    return int(words[1]), rest
