"""The server's side of the scheduler process: starts it, sends it requests, hands its tokens on, sees it die."""

import asyncio
import itertools
import logging
import os
import signal
import socket
import time
from collections.abc import AsyncGenerator
from typing import Any, Final, NamedTuple

from . import frames, process, scheduler
from .arguments import Settings
from .environ import Environment
from .faults import Faults
from .job import Job
from .tally import Tally

_REAP_S: Final = 0.01


class Update(NamedTuple):
    """What the scheduler says about a request: a token, or why there are no more, or both with the last one."""

    token: int | None
    cached_tokens: int
    finish: dict[str, Any] | None


def spawn(settings: Settings, environment: Environment, faults: Faults) -> tuple[int, socket.socket]:
    """Fork the scheduler process; to be called before this process has threads or an event loop."""
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    ours.close()
    process.die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process.take_name("sglang::scheduler (simulator)")
    logging.getLogger().handlers[0].setFormatter(log_format(" TP0"))
    scheduler.main(settings, environment, faults, theirs)
    os._exit(0)


def log_format(part: str = "") -> logging.Formatter:
    """SGLang's log lines, with the word that says what writes them."""
    return logging.Formatter(f"[%(asctime)s simulator{part}] %(message)s", datefmt="%Y-%m-%d %H:%M:%S")


class Engine:
    """One scheduler process and the requests that it works on."""

    def __init__(self, pid: int, link: socket.socket) -> None:
        self.pid = pid
        self.snapshot = Tally().snapshot()
        self.last_receive = 0.0
        self.ready = asyncio.Event()
        self._link = link
        self._writer: asyncio.StreamWriter | None = None
        self._running: dict[str, asyncio.Queue[Update]] = {}
        self._states: dict[int, asyncio.Event] = {}
        self._tokens = itertools.count()

    @property
    def running(self) -> list[str]:
        """The requests that have not ended."""
        return list(self._running)

    @property
    def queues(self) -> dict[str, int]:
        """Length of each queue, as of the last snapshot."""
        queues: dict[str, int] = self.snapshot["queues"]
        return queues

    @property
    def used_tokens(self) -> int:
        """Tokens that running and waiting requests hold, as of the last snapshot."""
        return int(self.snapshot["used_tokens"])

    async def connect(self) -> None:
        """Open the link to the scheduler; before any other method."""
        self._reader, self._writer = await asyncio.open_connection(sock=self._link)

    async def listen(self) -> int:
        """Take what the scheduler says until it is gone; returns its exit code, negative for a signal."""
        while (message := await frames.receive(self._reader)) is not None:
            self.last_receive = time.time()
            if "snapshot" in message:
                self.snapshot = message["snapshot"]
            elif "ready" in message:
                self.ready.set()
            elif "state" in message:
                self._states[message["state"]].set()
            else:
                self._hand_on(message)
        # It has closed its end of the link, so it is dead or about to be.
        while (code := self._exit_code()) is None:
            await asyncio.sleep(_REAP_S)
        return code

    def _hand_on(self, message: dict[str, Any]) -> None:
        rid = message["rid"]
        queue = self._running.get(rid)
        finish = message.get("finish")
        if finish is not None:
            self._running.pop(rid, None)
        if queue is not None:
            queue.put_nowait(Update(message.get("token"), message.get("cached", 0), finish))

    def tell(self, op: str, **fields: object) -> None:
        """Send the scheduler a message; nothing happens when it is gone."""
        if self._writer is not None:
            frames.send(self._writer, {"op": op, **fields})

    async def generate(self, job: Job) -> AsyncGenerator[Update, None]:
        """The updates of one request, the last with a finish reason; leaving early aborts the request."""
        queue: asyncio.Queue[Update] = asyncio.Queue()
        self._running[job.rid] = queue
        self.tell("generate", **job._asdict())
        finished = False
        try:
            while not finished:
                update = await queue.get()
                finished = update.finish is not None
                yield update
        finally:
            if not finished:
                self.tell("abort", rid=job.rid)

    def forget(self, rid: str) -> None:
        """Count a request no longer among the running ones, whatever the scheduler does with it."""
        self._running.pop(rid, None)

    async def answers(self) -> None:
        """Return when the scheduler has answered; a stopped one never does."""
        token = next(self._tokens)
        self._states[token] = event = asyncio.Event()
        self.tell("state", token=token)
        await event.wait()
        del self._states[token]

    def _exit_code(self) -> int | None:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None
