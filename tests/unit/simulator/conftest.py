import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from launcher.simulator import testing
from launcher.simulator.testing import Reply, Simulated

Start = Callable[..., Simulated]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a simulator and wait until it is ready; all are gone at the end of the test."""
    with ExitStack() as stack:

        def begin(
            mode: str = "null",
            *args: str,
            fault: str = "",
            environment: Mapping[str, str] | None = None,
            wait: str = testing.READY,
            port: int = 0,
            bootstrap_port: int = 0,
        ) -> Simulated:
            given = {"PDLAUNCH_SIM_FAULT": fault, **(environment or {})}
            started = testing.start(tmp_path, mode, args, given, port=port, bootstrap_port=bootstrap_port)
            stack.enter_context(started)
            return started.wait_for(wait) if wait else started

        yield begin


class Pair:
    """A prefill and a decode that belong together, asked as the router asks them."""

    def __init__(self, prefill: Simulated, decode: Simulated) -> None:
        self.prefill, self.decode = prefill, decode
        self._room = 1000

    def body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request with the fields that the router adds."""
        self._room += 1
        return {
            **body,
            "bootstrap_host": "127.0.0.1",
            "bootstrap_port": self.prefill.bootstrap_port,
            "bootstrap_room": self._room,
        }

    def ask(self, path: str, body: Mapping[str, Any]) -> tuple[Reply, Reply]:
        """The same body to both at the same time; the answers of prefill and of decode."""
        whole = self.body(body)
        first, second = in_background(self.prefill, path, whole), in_background(self.decode, path, whole)
        return first(), second()


@pytest.fixture
def pair(start: Start) -> Callable[..., Pair]:
    """Start a prefill and a decode; the same fault and environment go to both."""

    def begin(prefill: Sequence[str] = (), decode: Sequence[str] = (), **same: Any) -> Pair:
        first = start("prefill", *prefill, **same)
        return Pair(first, start("decode", *decode, bootstrap_port=first.bootstrap_port, **same))

    return begin


def in_background(server: Simulated, path: str, body: object) -> Callable[[], Reply]:
    """Ask without waiting; calling the result waits for the answer, or raises what asking raised."""
    found: list[Reply | OSError | http.client.HTTPException] = []

    def work() -> None:
        try:
            found.append(server.ask(path, body))
        except (OSError, http.client.HTTPException) as error:
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def result() -> Reply:
        thread.join(30)
        assert found, f"no answer from {path}"
        if isinstance(found[0], Exception):
            raise found[0]
        assert isinstance(found[0], Reply)
        return found[0]

    return result


def metric(server: Simulated, name: str, **labels: str) -> float:
    """The one sample of a metric that carries these labels."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    lines = server.ask("/metrics").body.decode().splitlines()
    samples = [line for line in lines if line.startswith(f"sglang:{name}{{") and all(w in line for w in wanted)]
    assert len(samples) == 1, samples
    return float(samples[0].rpartition(" ")[2])


def load(server: Simulated) -> dict[str, Any]:
    """The load of the only rank."""
    reply = server.ask("/v1/loads?include=all")
    loads = json.loads(reply.body)["loads"]
    assert len(loads) == 1
    return dict(loads[0])
