"""A small HTTP client for servers on this machine: JSON in, JSON out, nothing inherited from proxy variables."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said; status 0 where nothing answered, with the reason as its text."""

    status: int
    text: str

    refused: bool = False
    """Whether nobody listens there."""

    @property
    def ok(self) -> bool:
        """Whether the status is 200."""
        return self.status == 200

    def json(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server's address."""

    host: str
    port: int
    key: str | None = field(default=None, repr=False)
    """What the server asks clients for, where it was started with ``--api-key``."""

    @property
    def url(self) -> str:
        """``http://127.0.0.1:8000``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def get(self, path: str, timeout: float = 2.0) -> Answer:
        """GET `path`; `timeout` in seconds for each wait on the socket."""
        return self._ask("GET", path, None, timeout)

    def post(self, path: str, body: Any, timeout: float = 60.0) -> Answer:
        """POST `body` as JSON."""
        return self._ask("POST", path, json.dumps(body), timeout)

    def stream(self, path: str, body: Any, timeout: float = 60.0) -> Iterator[str]:
        """POST `body` and yield the data of each server-sent event up to ``[DONE]``.

        Raises OSError or http.client.HTTPException where the connection fails, and ValueError with the server's words
        for a status other than 200.
        """
        with closing(self._connect(timeout)) as connection:
            connection.request("POST", path, json.dumps(body), self._headers(body=True))
            response = connection.getresponse()
            if response.status != 200:
                raise ValueError(f"{response.status}: {response.read().decode(errors='replace')[:500]}")
            for raw in response:
                line = raw.decode(errors="replace").strip()
                if line == "data: [DONE]":
                    return
                if line.startswith("data: "):
                    yield line.removeprefix("data: ")

    def _ask(self, method: str, path: str, body: str | None, timeout: float) -> Answer:
        try:
            with closing(self._connect(timeout)) as connection:
                connection.request(method, path, body, self._headers(body=body is not None))
                response = connection.getresponse()
                return Answer(response.status, response.read().decode(errors="replace"))
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, str(error) or type(error).__name__, refused=isinstance(error, ConnectionRefusedError))

    def _headers(self, *, body: bool) -> dict[str, str]:
        kind = {"Content-Type": "application/json"} if body else {}
        return kind | ({"Authorization": f"Bearer {self.key}"} if self.key else {})

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(reachable(self.host), self.port, timeout=timeout)


def reachable(host: str) -> str:
    """An address to connect to where `host` is one to listen on."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104  compared, not bound
