"""Talking to supervisord's socket, and what goes wrong on it."""

from __future__ import annotations

import socket
import tempfile
import threading
import xmlrpc.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from launcher.backends.supervisord import client as module
from launcher.backends.supervisord.client import ALREADY_STARTED, SHUTDOWN_STATE, Client, EndingError, NotRunningError
from launcher.errors import PdlaunchError


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "supervisord.sock"


@contextmanager
def daemon(path: Path, answer: str | None) -> Iterator[list[str]]:
    """A stand-in that answers one call, or hangs with None; yields what it was asked."""
    asked: list[str] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                text = ""
                while not text.endswith("</methodCall>\n"):
                    text += connection.recv(65536).decode()
                asked.append(text)
                body = (answer or "").encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        thread = threading.Thread(target=serve, daemon=True)
        if answer is not None:
            thread.start()
        yield asked
        if answer is not None:
            thread.join()


def fault(code: int, words: str) -> str:
    return xmlrpc.client.dumps(xmlrpc.client.Fault(code, words))


def test_an_answer(path: Path) -> None:
    with daemon(path, xmlrpc.client.dumps((["ok"],), methodresponse=True)) as asked:
        assert Client(path)("startProcess", "decode-0", False) == ["ok"]
    assert "<methodName>supervisor.startProcess</methodName>" in asked[0]
    assert "<string>decode-0</string>" in asked[0]


def test_a_fault_that_only_says_how_things_are(path: Path) -> None:
    with daemon(path, fault(ALREADY_STARTED, "ALREADY_STARTED: decode-0")):
        assert Client(path)("startProcess", "decode-0", but=(ALREADY_STARTED,)) is None


def test_any_other_fault_is_an_error_with_its_words(path: Path) -> None:
    with (
        daemon(path, fault(92, "CANT_REREAD: bad line")),
        pytest.raises(PdlaunchError, match="supervisord refused reloadConfig: CANT_REREAD: bad line"),
    ):
        Client(path)("reloadConfig")


def test_a_daemon_that_was_told_to_end(path: Path) -> None:
    with daemon(path, fault(SHUTDOWN_STATE, "SHUTDOWN_STATE")), pytest.raises(EndingError, match="told to end"):
        Client(path)("getPID")


def test_nobody_there(path: Path) -> None:
    with pytest.raises(NotRunningError, match="nobody listens"):
        Client(path)("getPID")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    with pytest.raises(NotRunningError, match="nobody listens"):
        Client(path)("getPID")


def test_a_daemon_that_hangs_is_named_with_its_pid_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIMEOUT", 0.1)
    with daemon(path, None), pytest.raises(PdlaunchError, match="does not answer") as error:
        Client(path)("getPID")
    assert error.value.hint is not None
    assert str(path.with_suffix(".pid")) in error.value.hint


def test_a_socket_of_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: socket.socket, address: str) -> None:
        raise PermissionError

    monkeypatch.setattr(socket.socket, "connect", refused)
    with pytest.raises(PdlaunchError, match="belongs to another user"):
        Client(path)("getPID")
