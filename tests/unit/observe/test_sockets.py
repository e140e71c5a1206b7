"""Who listens where."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.observe import sockets
from launcher.observe.sockets import listeners


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1"])
def test_a_listener_is_found_with_its_process(host: str, free_port: Callable[[], int]) -> None:
    port, other = free_port(), free_port()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family):
        found = listeners({port, other})
    assert found.keys() == {port}
    assert (found[port].port, found[port].pid) == (port, os.getpid())
    own = Path("/proc/self/cmdline").read_text().split("\0")
    assert found[port].command.split()[0] == own[0]


def test_a_connection_is_no_listener(free_port: Callable[[], int]) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server:
        client = socket.create_connection(("127.0.0.1", port))
        own = client.getsockname()[1]
        assert listeners({own}) == {}
        client.close()
        server.accept()[0].close()
    assert listeners({port}) == {}


def test_a_socket_that_children_inherited_belongs_to_who_opened_it(free_port: Callable[[], int]) -> None:
    with socket.create_server(("127.0.0.1", port := free_port())) as server:
        command = [sys.executable, "-c", "input()"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[server.fileno()]) as child:
            found = listeners({port})
            child.communicate(b"\n")
    assert found[port].pid == os.getpid()


def test_age_is_told_by_the_start_and_not_by_the_number() -> None:
    """Numbers of processes begin again from the lowest when they are used up."""
    assert sockets._age(os.getpid()) > sockets._age(os.getppid())


def test_nobody_asked_for_nothing() -> None:
    assert listeners(()) == {}
