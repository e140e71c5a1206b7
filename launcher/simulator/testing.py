"""Simulators as children of a test or a benchmark: start one, wait for what it logs, ask it, end it."""

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

_TREE: Final = Path(__file__).parents[2]
_PORTS: Final = range(10_000, 22_000)  # below what kernels hand out by themselves and what SGLang picks at random
_POLL_S: Final = 0.01

READY: Final = "The server is fired up and ready to roll!"


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def free_port() -> int:
    """A port that nobody listens on now."""
    while True:
        port = random.choice(_PORTS)  # noqa: S311  # only to keep parallel tests apart
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port


def ask(port: int, path: str, body: object = None, *, timeout: float = 20) -> Reply:
    """One request to a server on this machine: POST with a body in JSON, else GET; raises OSError without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        method, payload = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(method, path, payload, {"content-type": "application/json"})
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, headers, response.read())
    finally:
        connection.close()


def events(reply: Reply) -> Iterator[Any]:
    """What a streamed answer said, event by event; `[DONE]` comes as that text."""
    for block in reply.body.decode().split("\n\n"):
        if block.startswith("data: "):
            data = block.removeprefix("data: ")
            yield data if data == "[DONE]" else json.loads(data)


class Simulated:
    """A running simulator; leaving the context kills it."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, bootstrap_port: int, log: Path) -> None:
        self.process, self.port, self.bootstrap_port = process, port, bootstrap_port
        self._log = log

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def log(self) -> str:
        """All that it has logged."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def scheduler(self) -> int:
        """Process id of its scheduler."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8")
        return int(children.split()[0])

    def wait_for(self, text: str = READY, *, timeout: float = 20) -> Self:
        """Wait until it has logged `text`; raises TimeoutError with its log if it does not, or ends before."""
        deadline = time.monotonic() + timeout
        while text not in self.log:
            if self.process.poll() is not None and text not in self.log:
                raise TimeoutError(f"ended with {self.process.returncode} without {text!r}:\n{self.log}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {text!r} within {timeout:g} s:\n{self.log}")
            time.sleep(_POLL_S)
        return self

    def wait_end(self, *, timeout: float = 20) -> int:
        """Wait until it has ended; returns its exit code."""
        return self.process.wait(timeout)

    def ask(self, path: str, body: object = None, *, timeout: float = 20) -> Reply:
        """One request to its HTTP port."""
        return ask(self.port, path, body, timeout=timeout)


def start(
    directory: Path,
    mode: str = "null",
    args: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    *,
    port: int = 0,
    bootstrap_port: int = 0,
) -> Simulated:
    """Start a simulator that logs into `directory`, on free ports where none are given; does not wait for it."""
    port, bootstrap_port = port or free_port(), bootstrap_port or free_port()
    log = directory / f"{mode}-{port}.log"
    command = [
        *(sys.executable, "-m", "launcher.simulator", "--model-path", "tiny", "--port", str(port)),
        *("--disaggregation-mode", mode, "--disaggregation-bootstrap-port", str(bootstrap_port)),
        *("--enable-metrics", *args),
    ]
    given = {"PATH": os.defpath, "PYTHONPATH": str(_TREE), **(environment or {})}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=given, stdout=out, stderr=out, cwd=directory)
    return Simulated(process, port, bootstrap_port, log)
