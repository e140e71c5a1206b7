"""Asking many at once: connections that stay, servers that say nothing, chunks, lengths, and hanging up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from launcher.observe.many import Line, ask


class Scripted:
    """A server that answers each question with the next of `replies`; None says nothing, "bye" hangs up first."""

    def __init__(self, *replies: bytes | None) -> None:
        self._replies: Iterator[bytes | None] = iter(replies)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        self.asked: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            while block := connection.recv(65536):
                self.asked.append(block)
                reply = next(self._replies)
                if reply is not None:
                    connection.sendall(reply)
                if reply is not None and b"bye" in reply:
                    return

    def close(self) -> None:
        self._socket.close()


LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"
ENDS = b"HTTP/1.1 503 Busy\r\n\r\nbye"


@pytest.fixture
def scripted() -> Iterator[Callable[..., Scripted]]:
    made: list[Scripted] = []

    def make(*replies: bytes | None) -> Scripted:
        made.append(Scripted(*replies))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def line_to() -> Iterator[Callable[[int], Line]]:
    made: list[Line] = []

    def make(port: int) -> Line:
        made.append(Line("127.0.0.1", port))
        return made[-1]

    yield make
    for line in made:
        line.close()


def test_one_connection_serves_many_questions(
    scripted: Callable[..., Scripted], line_to: Callable[[int], Line]
) -> None:
    server = scripted(LENGTH, CHUNKS, LENGTH)
    line = line_to(server.port)
    answers = [ask({"a": (line, f"/{n}")}, 5.0)["a"] for n in range(3)]
    assert [(a.status, a.body) for a in answers] == [(200, b"hello")] * 3
    assert server.connections == 1
    assert server.asked[1].startswith(b"GET /1 HTTP/1.1\r\nHost: 127.0.0.1:")


def test_a_server_that_hung_up_meanwhile_is_asked_again(
    scripted: Callable[..., Scripted], line_to: Callable[[int], Line]
) -> None:
    server = scripted(ENDS, LENGTH)
    line = line_to(server.port)
    assert ask({"a": (line, "/")}, 5.0)["a"].status == 503
    assert ask({"a": (line, "/")}, 5.0)["a"].body == b"hello"
    assert server.connections == 2


def test_who_says_nothing_keeps_nobody_from_being_heard(
    scripted: Callable[..., Scripted], line_to: Callable[[int], Line]
) -> None:
    silent, quick = scripted(None, LENGTH), scripted(LENGTH)
    lines = {"silent": line_to(silent.port), "quick": line_to(quick.port)}
    said = ask({name: (line, "/") for name, line in lines.items()}, 0.3)
    assert (said["silent"].status, said["silent"].refused) == (0, False)
    assert said["quick"].body == b"hello"
    # What it would say later belongs to no other question.
    assert ask({"a": (lines["silent"], "/")}, 5.0)["a"].body == b"hello"
    assert silent.connections == 2


def test_nobody_there_is_told_apart(free_port: Callable[[], int], line_to: Callable[[int], Line]) -> None:
    said = ask({"a": (line_to(free_port()), "/")}, 1.0)["a"]
    assert (said.status, said.refused) == (0, True)


def test_a_body_that_comes_in_pieces_is_waited_for(
    scripted: Callable[..., Scripted], line_to: Callable[[int], Line]
) -> None:
    server = scripted(CHUNKS[:60])
    line = line_to(server.port)
    assert ask({"a": (line, "/")}, 0.3)["a"].status == 0
