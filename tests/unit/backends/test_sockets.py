"""Listening sockets and who holds them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from launcher.backends.processes import look
from launcher.backends.sockets import holders, listening, opened


def test_a_listening_socket_is_seen_with_its_port_and_its_holder(tmp_path: Path) -> None:
    table = look(tmp_path)
    me = table[os.getpid()]
    with (
        socket.create_server(("127.0.0.1", 0)) as four,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as six,
    ):
        ports = {four.getsockname()[1], six.getsockname()[1]}
        mine = opened([me])
        assert ports <= set(mine.values())
        assert mine.items() <= listening().items()
        assert holders(mine.keys(), table) == (me,)
        with socket.create_connection(four.getsockname()) as client:
            assert client.getsockname()[1] not in opened([me]).values(), "a connection is no listener"
    assert not ports & set(opened([me]).values())
    assert not mine.keys() & listening().keys()


def test_a_process_that_ended_holds_nothing(tmp_path: Path) -> None:
    table = look(tmp_path)
    assert holders({"0"}, table) == ()
