"""The small client: what it makes of answers, silence, streams and proxies."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from launcher.observe.http import Answer, Endpoint
from launcher.observe.loads import Load, load

Answers = dict[str, tuple[int, str]]


@contextmanager
def serving(answers: Answers, port: int) -> Iterator[list[tuple[str, str, str]]]:
    """A server with fixed answers by path; what it was asked."""
    asked: list[tuple[str, str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            asked.append((self.command, self.path, body))
            status, text = answers.get(self.path, (404, "no"))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()


def test_get_and_post(free_port: Callable[[], int]) -> None:
    port = free_port()
    with serving({"/a": (200, '{"x": 1}'), "/b": (503, "busy")}, port) as asked:
        endpoint = Endpoint("127.0.0.1", port)
        good, bad = endpoint.get("/a"), endpoint.post("/b", {"é": [1]})
    assert (good.ok, good.json(), good.status) == (True, {"x": 1}, 200)
    assert (bad.ok, bad.json(), bad.status, bad.text) == (False, None, 503, "busy")
    assert asked == [("GET", "/a", ""), ("POST", "/b", json.dumps({"é": [1]}))]


def test_proxies_of_the_environment_are_not_asked(
    free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    port = free_port()
    with serving({"/a": (200, "fine")}, port):
        assert Endpoint("127.0.0.1", port).get("/a").text == "fine"


def test_where_nobody_listens_it_says_refused(free_port: Callable[[], int]) -> None:
    answer = Endpoint("127.0.0.1", free_port()).get("/")
    assert (answer.status, answer.refused, answer.json()) == (0, True, None)
    assert "refused" in answer.text


def test_who_does_not_answer_has_not_refused(free_port: Callable[[], int]) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        answer = Endpoint("127.0.0.1", port).get("/", timeout=0.05)
    assert answer == Answer(0, "timed out")


def test_who_says_something_else_than_http_is_no_answer(free_port: Callable[[], int]) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server:
        thread = threading.Thread(target=_say, args=(server, b"SSH-2.0-OpenSSH\r\n"))
        thread.start()
        answer = Endpoint("127.0.0.1", port).get("/")
        thread.join()
    assert (answer.status, answer.refused) == (0, False)
    assert "SSH-2.0" in answer.text


def _say(server: socket.socket, words: bytes) -> None:
    connection, _ = server.accept()
    connection.sendall(words)
    connection.close()


def test_an_address_to_listen_on_is_asked_at_one_to_connect_to(free_port: Callable[[], int]) -> None:
    port = free_port()
    with serving({"/": (200, "fine")}, port):
        assert Endpoint("0.0.0.0", port).get("/").ok
        assert Endpoint("", port).get("/").ok
    assert Endpoint("::1", 8000).url == "http://[::1]:8000"
    assert Endpoint("127.0.0.1", 8000).url == "http://127.0.0.1:8000"


def test_a_stream_yields_events_up_to_done(free_port: Callable[[], int]) -> None:
    text = 'data: {"a": 1}\n\n: a comment\n\ndata: {"b": 2}\n\ndata: [DONE]\n\ndata: {"late": 3}\n\n'
    port = free_port()
    with serving({"/s": (200, text), "/bad": (400, "no such model")}, port):
        endpoint = Endpoint("127.0.0.1", port)
        assert list(endpoint.stream("/s", {})) == ['{"a": 1}', '{"b": 2}']
        with pytest.raises(ValueError, match="400: no such model"):
            list(endpoint.stream("/bad", {}))
    with pytest.raises(ConnectionRefusedError):
        list(Endpoint("127.0.0.1", port).stream("/s", {}))


LOADS = {
    "loads": [
        {
            "num_running_reqs": 2,
            "num_waiting_reqs": 1,
            "disaggregation": {"mode": "decode", "decode_prealloc_queue_reqs": 3, "decode_transfer_queue_reqs": 4},
        },
        {"num_running_reqs": 1, "num_waiting_reqs": 0, "disaggregation": None},
    ]
}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((200, json.dumps(LOADS)), Load(running=3, queued=8)),
        ((200, '{"loads": [{"num_running_reqs": null}]}'), Load(running=0, queued=0)),
        ((200, "[]"), None),
        ((200, "<html>"), None),
        ((404, "no"), None),
    ],
)
def test_the_load_over_all_ranks(free_port: Callable[[], int], answer: tuple[int, str], expected: Load | None) -> None:
    port = free_port()
    with serving({"/v1/loads?include=core,disagg": answer}, port):
        found = load(Endpoint("127.0.0.1", port))
    assert found == expected
    assert found is None or found.busy == (found.running + found.queued > 0)


def test_a_key_is_sent_with_each_request_and_shown_nowhere() -> None:
    seen: list[str | None] = []

    class Asking(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Asking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = Endpoint("127.0.0.1", server.server_port, "s3cret")
        assert endpoint.get("/x").ok
        assert Endpoint("127.0.0.1", server.server_port).get("/x").ok
        server.shutdown()
    assert seen == ["Bearer s3cret", None]
    assert "s3cret" not in repr(endpoint)
