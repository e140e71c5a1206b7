"""Asks many servers at once over connections that stay open, in one thread and within one time limit.

For who asks the same servers every few seconds: `launcher.observe.http` is for everybody else.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from launcher.observe.http import reachable

K = TypeVar("K", bound=Hashable)
_BLOCK = 1 << 18
_CONNECT = 0.5
"""Seconds: on this machine a connection is there at once, or the server's queue is full."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """What a server said."""

    status: int
    """0 where it said nothing in time, or nobody listens."""
    body: bytes = b""
    refused: bool = False
    """Whether nobody listens."""


class Line:
    """The connection to one server, opened when it is needed; a server may close it between two questions."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (reachable(host), port)
        self._name = f"{host}:{port}".encode()
        self._fresh = False
        self._got = bytearray()
        self._asked = b""
        self.socket: socket.socket | None = None

    def ask(self, path: str) -> Said | None:
        """Send the question; what is wrong at once, or None where the answer is to be waited for."""
        self._asked = b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path.encode(), self._name)
        return self._send()

    def _send(self) -> Said | None:
        self._got.clear()
        try:
            self._fresh = self.socket is None
            if self.socket is None:
                self.socket = socket.create_connection(self._address, timeout=_CONNECT)
                self.socket.setblocking(False)
            self.socket.sendall(self._asked)
        except OSError as error:
            again = not self._fresh
            self.close()
            return self._send() if again else Said(0, refused=isinstance(error, ConnectionRefusedError))
        return None

    def read(self) -> Said | None:
        """Take what has come; the answer once it is whole."""
        assert self.socket is not None  # noqa: S101  who reads has asked
        try:
            block = self.socket.recv(_BLOCK)
        except BlockingIOError:
            return None
        except OSError:
            block = b""
        self._got += block
        if block:
            return self._whole()
        again = not self._fresh and not self._got
        said = _answer(bytes(self._got), ended=True)
        self.close()
        return self._send() if again else said or Said(0)

    def _whole(self) -> Said | None:
        said = _answer(bytes(self._got), ended=False)
        if said and _CLOSE.search(self._got.partition(b"\r\n\r\n")[0]):
            self.close()
        return said

    def close(self) -> None:
        """Hang up; the next question connects anew."""
        if self.socket is not None:
            with contextlib.suppress(OSError):
                self.socket.close()
            self.socket = None


def ask(questions: Mapping[K, tuple[Line, str]], timeout: float) -> dict[K, Said]:
    """What each server said to its path; a status of 0 for those that said nothing within `timeout` seconds."""
    answers: dict[K, Said] = {}
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for key, (line, path) in questions.items():
            if (said := line.ask(path)) is not None:
                answers[key] = said
            elif line.socket is not None:
                selector.register(line.socket, selectors.EVENT_READ, (key, line))
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for found, _ in selector.select(left):
                key, line = found.data
                said = line.read()
                if said is not None or line.socket is not found.fileobj:
                    selector.unregister(found.fileobj)
                if said is not None:
                    answers[key] = said
                elif line.socket is not None and line.socket is not found.fileobj:
                    selector.register(line.socket, selectors.EVENT_READ, (key, line))
    for key, (line, _) in questions.items():
        if key not in answers:
            line.close()  # what it says later would be taken for the answer to the next question
            answers[key] = Said(0)
    return answers


def _answer(got: bytes, *, ended: bool) -> Said | None:
    """The answer in what has come, or None while it is not whole: RFC 9112, section 6."""
    head, separator, rest = got.partition(b"\r\n\r\n")
    if not separator:
        return None
    status = int(head[9:12]) if head[9:12].isdigit() else 0
    if _CHUNKED.search(head):
        body = _chunks(rest)
        return None if body is None else Said(status, body)
    if length := _LENGTH.search(head):
        whole = int(length[1])
        return Said(status, rest[:whole]) if len(rest) >= whole else None
    return Said(status, rest) if ended else None


def _chunks(rest: bytes) -> bytes | None:
    """A body that comes in chunks; None while the last one is missing."""
    parts: list[bytes] = []
    at = 0
    while (end := rest.find(b"\r\n", at)) >= 0:
        try:
            size = int(rest[at:end].partition(b";")[0], 16)
        except ValueError:
            return b""
        if size == 0:
            return b"".join(parts)
        parts.append(rest[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return None
