"""The two processes of a transfer: each an engine's own Python that talks in lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import selectors
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

_PEER = Path(__file__).with_name("nixl_peer.py")


@dataclass(frozen=True, slots=True)
class End:
    """One of the two processes."""

    service: str
    python: str
    env: Mapping[str, str]
    """Complete: nothing is inherited."""
    device: int | None = None
    """The card, as CUDA counts with `env`; None for the host's memory."""
    user: str | None = None
    """Who it runs as; None: who asks."""


class EndFailedError(Exception):
    """One end said no, or nothing."""

    def __init__(self, where: str, error: str) -> None:
        super().__init__(error)
        self.where, self.error = where, error


class Process:
    """One end, running."""

    def __init__(self, end: End, role: str, told: Mapping[str, Any], log: IO[bytes]) -> None:
        self._service = end.service
        self._heard = b""
        words = json.dumps({**told, "role": role, "device": end.device})
        # By its text, not its path: the user that serves may not read where pdlaunch is installed.
        command = [end.python, "-P", "-c", _PEER.read_text(encoding="utf-8"), words]
        told_ucx = {"UCX_PROTO_INFO": "y", "UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "stderr"}
        env = {**end.env, **told_ucx}
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, env=env, stdin=pipe, stdout=pipe, stderr=log, start_new_session=True, cwd="/", **_as(end.user)
            )
        except (OSError, LookupError) as error:
            raise EndFailedError(end.service, f"{end.python} does not start: {error}") from None

    def hear(self, limit: float) -> dict[str, Any]:
        """The next line; raises EndFailedError where it tells of an error, or there is none in time."""
        while b"\n" not in self._heard:
            self._read(limit)
        line, _, self._heard = self._heard.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise EndFailedError(self._service, str(said["error"]))
        return said

    def _read(self, limit: float) -> None:
        out = self._process.stdout
        assert out is not None  # noqa: S101  it is a pipe
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            if not selector.select(max(0.0, limit - time.monotonic())):
                raise EndFailedError(self._service, "no answer in time: it hangs")
        more = os.read(out.fileno(), 65536)
        if not more:
            raise EndFailedError(self._service, f"its process ended with exit status {self._process.wait()}")
        self._heard += more

    def tell(self, words: Mapping[str, Any]) -> None:
        """Hand a line over."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101  it is a pipe
        try:
            pipe.write(json.dumps(words).encode() + b"\n")
            pipe.flush()
        except BrokenPipeError:
            raise EndFailedError(self._service, "its process ended") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """It has nothing to lose: end it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process.kill()
        self._process.wait()


def _as(user: str | None) -> dict[str, Any]:
    """How a process of another user is started; raises KeyError where there is none of that name."""
    if user is None:
        return {}
    group = pwd.getpwnam(user).pw_gid
    return {"user": user, "group": group, "extra_groups": os.getgrouplist(user, group)}
