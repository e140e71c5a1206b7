"""Ports: free before a start, in the right hands after it."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from launcher.backends.processes import Proc
from launcher.errors import PdlaunchError
from launcher.observe.running import Running
from launcher.operations.loading import StartFailedError
from launcher.operations.ports import require_free, verify_owners
from launcher.plan import Service

from ..store.making import a_plan, a_service


def service(name: str, **ports: int) -> Service:
    return a_service(name).model_copy(update={"ports": ports})


def running(pid: int) -> Running:
    return Running("d", (Proc(pid, 1, 0, 1, "x", ("x",)),))


@contextmanager
def listening(*ports: int) -> Iterator[None]:
    sockets = [socket.create_server(("127.0.0.1", port)) for port in ports]
    try:
        yield
    finally:
        for each in sockets:
            each.close()


class TestBefore:
    def test_every_taken_port_is_named_at_once(self, free_port: Callable[[], int]) -> None:
        http, bootstrap, free = sorted([free_port(), free_port(), free_port()])
        made = [service("prefill-0", http=http, bootstrap=bootstrap), service("decode-0", http=free)]
        with listening(http, bootstrap), pytest.raises(PdlaunchError) as caught:
            require_free(made, ())
        pid = os.getpid()
        first, second = caught.value.message.splitlines()
        assert first.startswith(f"port {http}, prefill-0's http port, is taken by pid {pid} (")
        assert second.startswith(f"port {bootstrap}, prefill-0's bootstrap port, is taken by pid {pid} (")
        assert caught.value.hint == f"end that process (see: ps -fp {pid}), or write another port in the profile"
        require_free(made, ())

    def test_what_the_engine_opens_beside_its_port_is_asked_for_too(self, free_port: Callable[[], int]) -> None:
        beside = free_port()
        made = service("decode-0", http=free_port()).model_copy(update={"reserved": (beside,)})
        with listening(beside), pytest.raises(PdlaunchError, match=f"port {beside}, decode-0's beside its own port"):
            require_free([made], ())

    def test_those_that_are_about_to_stop_may_hold_theirs(self, free_port: Callable[[], int]) -> None:
        port = free_port()
        with listening(port):
            require_free([service("decode-0", http=port)], {os.getpid()})


class Route(BaseHTTPRequestHandler):
    answer: ClassVar[dict[str, object]] = {}

    def do_GET(self) -> None:
        self.send_response(200 if self.answer else 404)
        self.end_headers()
        self.wfile.write(json.dumps(self.answer).encode())

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def bootstrap_server(port: int, **answer: object) -> Iterator[None]:
    handler = type("Handler", (Route,), {"answer": answer})
    with HTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


class TestAfter:
    def test_nobody_listens(self, free_port: Callable[[], int]) -> None:
        port = free_port()
        plan = a_plan(service("decode-0", http=port, nccl=free_port()))
        with pytest.raises(StartFailedError) as caught:
            verify_owners(plan, {"decode-0": running(os.getpid())})
        assert caught.value.message == f"decode-0  nobody listens on its http port {port}"

    def test_somebody_else_listens(self, free_port: Callable[[], int]) -> None:
        port = free_port()
        plan = a_plan(service("decode-0", http=port))
        with listening(port), pytest.raises(StartFailedError) as caught:
            verify_owners(plan, {"decode-0": running(1)})
        assert caught.value.message == f"decode-0  its http port {port} is held by another: pid {os.getpid()}"

    def test_all_is_well(self, free_port: Callable[[], int]) -> None:
        http, bootstrap = free_port(), free_port()
        plan = a_plan(service("prefill-0", http=http, bootstrap=bootstrap, nccl=free_port()))
        with listening(http), bootstrap_server(bootstrap, prefill_http_port=http):
            verify_owners(plan, {"prefill-0": running(os.getpid())})

    def test_a_bootstrap_server_of_another_prefill(self, free_port: Callable[[], int]) -> None:
        http, bootstrap = free_port(), free_port()
        plan = a_plan(service("prefill-0", http=http, bootstrap=bootstrap))
        with listening(http), bootstrap_server(bootstrap, prefill_http_port=4711), pytest.raises(StartFailedError) as e:
            verify_owners(plan, {"prefill-0": running(os.getpid())})
        assert e.value.message == (
            f"prefill-0  the bootstrap server on its port {bootstrap} belongs to the prefill on port 4711, "
            f"not to the one on {http}"
        )

    def test_a_bootstrap_server_that_knows_no_route(self, free_port: Callable[[], int]) -> None:
        http, bootstrap = free_port(), free_port()
        plan = a_plan(service("prefill-0", http=http, bootstrap=bootstrap))
        with listening(http), bootstrap_server(bootstrap), pytest.raises(StartFailedError) as caught:
            verify_owners(plan, {"prefill-0": running(os.getpid())})
        assert caught.value.message == f"prefill-0  its bootstrap server on port {bootstrap} answers 404"
