"""The scheduler process: takes requests from the server over a socket and works on them.

It is a real child process, so that stopping or killing it does to the server what it does to SGLang's.
"""

import asyncio
import logging
import os
import socket
import sys
import traceback
from typing import NoReturn

from . import frames, kv, roles
from .arguments import Settings
from .environ import Environment
from .faults import Faults
from .job import Job, RefusedError
from .registration import kv_cache_dtype, reachable, register, row
from .work import Work

log = logging.getLogger(__name__)


class Scheduler:
    """One scheduler and the requests it works on."""

    def __init__(
        self, settings: Settings, environment: Environment, faults: Faults, writer: asyncio.StreamWriter
    ) -> None:
        self._settings, self._environment, self._faults, self._writer = settings, environment, faults, writer
        self._work = Work(settings, environment, faults, lambda message: frames.send(writer, message))
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sender = kv.Sender()
        self._receiver = kv.Receiver(settings.number("page_size"), kv_cache_dtype(settings), environment)
        self._store: asyncio.Server | None = None

    async def load(self) -> None:
        """Load nothing, for as long as the faults say, then open what a scheduler opens."""
        log.info("Load weight begin. There are no weights: this is a simulator.")
        await asyncio.sleep(sum(fault.seconds for fault in self._faults.of("load")))
        if any(fault.at_start for fault in self._faults.of("crash")):
            raise RuntimeError("simulated crash while loading (PDLAUNCH_SIM_FAULT=crash:start)")
        if self._settings.values["nccl_port"] is not None:
            # torch's store listens on all interfaces, whatever --host says.
            port = self._settings.number("nccl_port")
            self._store = await asyncio.start_server(lambda _, writer: writer.close(), None, port)
        if self._settings.role == "prefill":
            rank_ip = self._environment.host_ip or reachable(self._settings.text("host"))
            rank = row(self._settings, rank_ip, await self._sender.listen(rank_ip))
            await register(self._settings, self._environment, rank)
        log.info("Load weight end. max_total_num_tokens=%s", self._settings.values["max_total_tokens"])

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve until the server says `shutdown` or goes away."""
        frames.send(self._writer, {"ready": True})
        beating = asyncio.create_task(self._work.beat())
        while (message := await frames.receive(reader)) is not None:
            match message.pop("op"):
                case "generate":
                    self._begin(Job(**message))
                case "abort":
                    self._abort(message["rid"])
                case "flush":
                    self._work.cache.flush()
                case "state":
                    frames.send(self._writer, {"state": message["token"]})
                case "shutdown":
                    break
        beating.cancel()

    def _begin(self, job: Job) -> None:
        job = self._work.arrive(job)
        self._tasks[job.rid] = task = asyncio.create_task(self._serve(job))
        task.add_done_callback(_crash_with)

    def _abort(self, rid: str) -> None:
        if rid not in self._work.stuck and (task := self._tasks.get(rid)) is not None:
            task.cancel()

    async def _serve(self, job: Job) -> None:
        try:
            match self._settings.role:
                case "prefill":
                    await roles.prefill(self._work, self._sender, job)
                case "decode":
                    await roles.decode(self._work, self._receiver, job)
                case _:
                    await roles.aggregated(self._work, job)
        except RefusedError as error:
            self._work.finish(job, {"type": "abort", "message": str(error), "status_code": error.status})
        except asyncio.CancelledError:
            self._work.finish(job, {"type": "abort", "message": "Aborted by AbortReq.", "status_code": None})
        finally:
            self._tasks.pop(job.rid, None)


def _crash_with(task: "asyncio.Task[None]") -> None:
    """What no request expects kills the scheduler, as it does in SGLang."""
    if not task.cancelled() and (error := task.exception()) is not None:
        crash(error)


def crash(error: BaseException) -> NoReturn:
    """Die as SGLang's scheduler does: the traceback into the log, then a non-zero exit."""
    log.error("Scheduler hit an exception: %s", "".join(traceback.format_exception(error)))
    sys.stderr.flush()
    os._exit(1)


async def _main(settings: Settings, environment: Environment, faults: Faults, link: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=link)
    await frames.receive(reader)  # the server says when its bootstrap port is open, or known to be taken
    scheduler = Scheduler(settings, environment, faults, writer)
    await scheduler.load()
    for fault in faults.of("crash"):
        if fault.after_s:
            error = RuntimeError(f"simulated crash after {fault.after_s:g} s (PDLAUNCH_SIM_FAULT)")
            asyncio.get_running_loop().call_later(fault.after_s, crash, error)
    await scheduler.run(reader)


def main(settings: Settings, environment: Environment, faults: Faults, link: socket.socket) -> None:
    """Run the scheduler in this process until the server ends it."""
    try:
        asyncio.run(_main(settings, environment, faults, link))
    except Exception as error:  # noqa: BLE001  # whatever it is, it goes into the log, as in SGLang
        crash(error)
