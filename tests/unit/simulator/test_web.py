import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from launcher.simulator.web import Request, Response, Server, as_json, ask

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


async def echo(request: Request) -> Response:
    return as_json({"path": request.path, "query": request.query, "body": request.body.decode()})


def converse(talk: Talk, handler: Callable[[Request], Awaitable[Response]] = echo, keep_alive_s: float = 5) -> bytes:
    """Serve a handler, let `talk` speak raw bytes to it, return what it heard."""

    async def run() -> bytes:
        server = Server(handler, server_header="test", keep_alive_s=keep_alive_s)
        await server.start("127.0.0.1", 0)
        port = server.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return await asyncio.wait_for(talk(reader, writer), 10)
        finally:
            writer.close()
            await server.close()

    return asyncio.run(run())


def saying(data: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(data)
        return await reader.read()

    return talk


def test_a_connection_is_kept_for_the_next_request() -> None:
    first = b"POST /a?x=1 HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi"
    last = b"GET /b HTTP/1.1\r\nconnection: close\r\n\r\n"
    answer = converse(saying(first + last))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert b'{"path": "/a", "query": {"x": "1"}, "body": "hi"}' in answer
    assert answer.endswith(b'{"path": "/b", "query": {}, "body": ""}')


def test_a_chunked_body_is_put_together() -> None:
    head = b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    assert b'"body": "abcde"' in converse(saying(head + b"2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n"))


def test_who_expects_a_continue_gets_one() -> None:
    data = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\nconnection: close\r\n\r\na"
    assert converse(saying(data)).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "data",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(data: bytes) -> None:
    answer = converse(saying(data))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request")
    assert answer.endswith(b"Invalid HTTP request received.")


def test_events_come_as_chunks() -> None:
    async def events() -> AsyncGenerator[bytes, None]:
        yield b"data: 1\n\n"
        yield b"data: [DONE]\n\n"

    async def stream(_: Request) -> Response:
        return Response(events=events())

    answer = converse(saying(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n"), stream)
    assert b"content-type: text/event-stream" in answer
    assert answer.endswith(b"9\r\ndata: 1\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


def test_an_idle_connection_is_dropped() -> None:
    assert converse(saying(b""), keep_alive_s=0.05) == b""


def test_a_handler_is_cancelled_when_its_client_leaves() -> None:
    async def run() -> None:
        entered, cancelled = asyncio.Event(), asyncio.Event()

        async def never(_: Request) -> Response:
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return Response()

        server = Server(never, server_header="test", keep_alive_s=5)
        await server.start("127.0.0.1", 0)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await asyncio.wait_for(entered.wait(), 10)
        writer.close()
        await asyncio.wait_for(cancelled.wait(), 10)
        await server.close()

    asyncio.run(run())


def test_ask_gives_status_and_body() -> None:
    async def run() -> tuple[int, bytes]:
        server = Server(echo, server_header="test", keep_alive_s=5)
        await server.start("127.0.0.1", 0)
        try:
            return await ask("PUT", "127.0.0.1", server.port, "/route", {"a": 1})
        finally:
            await server.close()

    status, body = asyncio.run(run())
    assert status == 200
    assert b'"path": "/route"' in body


def test_ask_refuses_what_does_not_speak_http() -> None:
    async def run() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionError):
            await ask("GET", "127.0.0.1", port, "/")
        server.close()

    asyncio.run(run())
