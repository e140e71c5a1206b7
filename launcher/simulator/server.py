"""One server from start to end: loads, opens its ports, warms up, serves, drains, or crashes as SGLang does."""

import asyncio
import logging
import os
import signal
import time

from . import bootstrap
from .arguments import Settings
from .engine import Engine
from .environ import Environment
from .faults import Faults
from .health import health_job
from .naming import SERVER
from .routes import Routes
from .service import Service
from .web import Server

log = logging.getLogger(__name__)

_SCHEDULER_EXIT_S = 2.0
"""How long a scheduler has to leave when asked; SGLang gives it 15 s (tokenizer_manager.py)."""


class Running:
    """A server process: what has to happen in which order, and what ends it."""

    def __init__(self, settings: Settings, environment: Environment, faults: Faults, engine: Engine) -> None:
        self._settings, self._environment, self._faults, self._engine = settings, environment, faults, engine
        self._service = Service(settings, environment, engine)
        self._http = Server(Routes(self._service, faults), server_header=SERVER, keep_alive_s=environment.keep_alive_s)
        self._bootstrap: Server | None = None
        self._leave = asyncio.Event()
        self._ending = False

    async def serve(self) -> int:
        """Run to the end; returns the exit code."""
        await self._engine.connect()
        watching = asyncio.create_task(self._watch_scheduler())
        if self._settings.role == "prefill":
            await self._open_bootstrap()
        self._engine.tell("load")
        await self._engine.ready.wait()
        host, port = self._settings.text("host"), self._settings.number("port")
        try:
            await self._http.start(host, port)
        except OSError as error:
            log.error("%s", error)  # noqa: TRY400  # as uvicorn says it, without a traceback
            await self._end_scheduler(watching)
            return 1
        log.info("Uvicorn running on http://%s:%d (Press CTRL+C to quit)", host, port)
        self._on_signals()
        await self._warm_up()
        for fault in self._faults.of("exit0"):
            asyncio.get_running_loop().call_later(fault.after_s, self._exit_quietly)
        await self._leave.wait()
        await self._drain()
        await self._end_scheduler(watching)
        return 0

    async def _open_bootstrap(self) -> None:
        host, port = self._settings.text("host"), self._settings.number("disaggregation_bootstrap_port")
        server = Server(bootstrap.Registry().handle, server_header=SERVER, keep_alive_s=self._environment.keep_alive_s)
        try:
            await server.start(host, port)
        except OSError as error:
            # SGLang logs it and goes on: a server without its bootstrap port still calls itself ready.
            log.exception("Server error: %s", error)  # noqa: TRY401  # the line that SGLang writes
            return
        self._bootstrap = server
        log.info("CommonKVBootstrapServer started successfully on %s:%d", host, port)

    async def _warm_up(self) -> None:
        disaggregated = self._settings.role != "aggregated"
        if disaggregated:
            log.info("Start of pd disaggregation warmup ...")
        answer = self._service.start(health_job())
        await answer.complete()
        if disaggregated:
            log.info("Disaggregation warmup requests completed for all 1 DP ranks")
            log.info("End of disaggregation warmup")
        self._service.ready()
        log.info("The server is fired up and ready to roll!")

    def _on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_term, number)

    def _on_term(self, number: int) -> None:
        if number == signal.SIGTERM and self._faults.of("ignore-term"):
            log.warning("SIGTERM ignored (PDLAUNCH_SIM_FAULT=ignore-term)")
            return
        log.warning("SIGTERM received. signum=%d. Draining requests and shutting down...", number)
        self._service.leaving = True
        self._leave.set()

    def _exit_quietly(self) -> None:
        os.kill(self._engine.pid, signal.SIGKILL)
        os._exit(0)

    async def _drain(self) -> None:
        """Wait until no request runs, however long; a server that failed its health check does not wait."""
        while True:
            await asyncio.sleep(self._environment.drain_s)
            if self._service.unhealthy:
                log.error("Signal SIGTERM received while health check failed. Force exiting.")
                return
            remaining = self._engine.running
            log.info(
                "Gracefully exiting... Remaining number of requests %d. Remaining requests remaining_rids=%s.",
                len(remaining),
                remaining,
            )
            if not remaining:
                return

    async def _watch_scheduler(self) -> None:
        code = await self._engine.listen()
        if self._ending:
            return
        if not self._engine.ready.is_set():
            log.error("Received sigquit from a child process. It usually means the child failed.")
            log.error("Rank 0 scheduler died during initialization (exit code: %d).", code)
            os._exit(1)
        log.error(
            "Subprocess scheduler_0 (pid=%d) crashed with exit code %d. Triggering SIGQUIT for cleanup...",
            self._engine.pid,
            code,
        )
        log.error("SIGQUIT received. signum=3. It usually means one child failed.")
        # SGLang sleeps in its signal handler: the port stays open and nobody answers on it.
        time.sleep(self._environment.linger_s)
        os.kill(os.getpid(), signal.SIGKILL)

    async def _end_scheduler(self, watching: "asyncio.Task[None]") -> None:
        self._ending = True
        self._engine.tell("shutdown")
        await asyncio.wait((watching,), timeout=_SCHEDULER_EXIT_S)
        if not watching.done():
            log.warning("Scheduler still alive %g s after ShutdownReq, killing it", _SCHEDULER_EXIT_S)
            os.kill(self._engine.pid, signal.SIGKILL)
        await watching
