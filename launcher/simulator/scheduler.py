"""The scheduler process: takes requests from the server over a socket, prefills, hands KV over, generates.

It is a real child process, so that stopping or killing it does to the server what it does to SGLang's.
"""

import asyncio
import logging
import os
import socket
import sys
import time
import traceback
from typing import Any, NamedTuple, NoReturn

from . import frames, kv, tokens
from .arguments import Settings
from .cache import PrefixCache
from .environ import Environment
from .faults import Faults
from .kv import Prompt, TransferError
from .naming import VERSION
from .tally import Tally
from .web import ask

log = logging.getLogger(__name__)

_REGISTER_ATTEMPTS = 5
_SNAPSHOT_S = 0.02


class Job(NamedTuple):
    """One request as the server sends it."""

    rid: str
    prompt: list[int]
    limit: int
    natural: bool
    host: str
    port: int
    room: int
    is_health: bool

    @property
    def alone(self) -> bool:
        """Whether no other half of this request exists."""
        return self.host == kv.FAKE_HOST


class RefusedError(Exception):
    """A request that ends with an HTTP status instead of tokens."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Scheduler:
    """One scheduler: its queues, its cache, its faults."""

    def __init__(self, settings: Settings, environment: Environment, faults: Faults, writer: asyncio.StreamWriter):
        self._settings, self._environment, self._faults, self._writer = settings, environment, faults, writer
        self._role = settings.role
        self._tally = Tally()
        self._seen = 0
        self._started = time.monotonic()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stuck: set[str] = set()
        self._slots = asyncio.Semaphore(settings.number("max_running_requests"))
        self._cache = PrefixCache(
            settings.number("page_size"),
            enabled=not settings.switch("disable_radix_cache"),
            capacity=settings.number("max_total_tokens"),
        )
        self._sender = kv.Sender()
        self._receiver = kv.Receiver(
            settings.number("page_size"),
            kv_cache_dtype(settings),
            environment.heartbeat_s,
            environment.heartbeat_failures,
        )

    async def load(self) -> None:
        """Load nothing, as long as the faults say, then open what a scheduler opens."""
        log.info("Load weight begin. There are no weights: this is a simulator.")
        await asyncio.sleep(sum(fault.seconds for fault in self._faults.of("load")))
        if any(fault.at_start for fault in self._faults.of("crash")):
            raise RuntimeError("simulated crash while loading (PDLAUNCH_SIM_FAULT=crash:start)")
        if self._settings.values["nccl_port"] is not None:
            # torch's store listens on all interfaces whatever --host says.
            port = self._settings.number("nccl_port")
            self._store = await asyncio.start_server(lambda _, writer: writer.close(), None, port)
        if self._role == "prefill":
            await self._register()
        log.info("Load weight end. max_total_num_tokens=%s", self._settings.values["max_total_tokens"])

    async def _register(self) -> None:
        settings = self._settings
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.text("host"), settings.text("host"))  # noqa: S104
        rank_ip = self._environment.host_ip or host
        row = {
            "attn_tp_size": settings.number("tp_size"),
            "attn_cp_size": 1,
            "attn_dp_size": 1,
            "system_dp_size": settings.number("dp_size"),
            "pp_size": settings.number("pp_size"),
            "rank_ip": rank_ip,
            "rank_port": await self._sender.listen(rank_ip),
            "page_size": settings.number("page_size"),
            "kv_cache_dtype": kv_cache_dtype(settings),
            "load_balance_method": settings.text("load_balance_method"),
            "prefill_http_port": settings.number("port"),
            "simulator": VERSION,
        }
        for attempt in range(_REGISTER_ATTEMPTS):
            try:
                reply = ask("PUT", host, settings.number("disaggregation_bootstrap_port"), "/route", row)
                status, _ = await asyncio.wait_for(reply, 5)
                if status == 200:
                    return
                reason = f"status {status}"
            except (OSError, TimeoutError) as error:
                reason = str(error) or type(error).__name__
            log.warning("Prefill register attempt %d/%d failed: %s", attempt + 1, _REGISTER_ATTEMPTS, reason)
            await asyncio.sleep(self._environment.register_s * 2**attempt)
        log.error("Prefill instance failed to register to bootstrap server after %d retries", _REGISTER_ATTEMPTS)

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve until the server says `shutdown` or goes away."""
        reporter = asyncio.create_task(self._report())
        frames.send(self._writer, {"ready": True})
        while (message := await frames.receive(reader)) is not None:
            match message.pop("op"):
                case "generate":
                    job = Job(**message)
                    self._tasks[job.rid] = task = asyncio.create_task(self._serve(job))
                    task.add_done_callback(self._crash_on_bug)
                case "abort":
                    self._abort(message["rid"])
                case "flush":
                    self._cache.flush()
                case "state":
                    frames.send(self._writer, {"state": message["token"]})
                case "shutdown":
                    break
        reporter.cancel()

    def _crash_on_bug(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            crash(error)

    def _abort(self, rid: str) -> None:
        if rid not in self._stuck and (task := self._tasks.get(rid)) is not None:
            task.cancel()

    async def _report(self) -> None:
        while True:
            self._publish()
            await asyncio.sleep(_SNAPSHOT_S)

    def _publish(self) -> None:
        if self._tally.changed:
            frames.send(self._writer, {"snapshot": self._tally.snapshot()})

    async def _serve(self, job: Job) -> None:
        try:
            await self._faults_on_arrival(job)
            match self._role:
                case "prefill":
                    await self._prefill_half(job)
                case "decode":
                    await self._decode_half(job)
                case _:
                    await self._whole(job)
        except RefusedError as refusal:
            self._finish(job, {"type": "abort", "message": str(refusal), "status_code": refusal.status})
        except asyncio.CancelledError:
            self._finish(job, {"type": "abort", "message": "Aborted by AbortReq.", "status_code": None})
        finally:
            self._tally.move(job.rid, None)
            self._tasks.pop(job.rid, None)

    def _finish(self, job: Job, reason: dict[str, Any]) -> None:
        frames.send(self._writer, {"rid": job.rid, "finish": reason})
        self._publish()

    async def _faults_on_arrival(self, job: Job) -> None:
        if any(not fault.context for fault in self._faults.of("hang")):
            self._tally.move(job.rid, "running", len(job.prompt))
            await self._stand_still()
        if job.is_health:
            return
        self._seen += 1
        for fault in self._faults.of("crash"):
            if fault.after and self._seen > fault.after:
                raise RuntimeError(f"simulated crash at request {self._seen} (PDLAUNCH_SIM_FAULT)")

    async def _stand_still(self) -> NoReturn:
        log.warning("simulated hang: the scheduler stands still (PDLAUNCH_SIM_FAULT)")
        self._publish()
        await self._writer.drain()
        while True:
            time.sleep(3600)  # blocking the loop is the fault that is shown

    async def _check_context(self, job: Job, context: int) -> None:
        """Where a context has grown to what a fault names, the request stops or the scheduler dies."""
        if job.is_health:
            return
        if self._faults.reached("hang", context):
            await self._never(job, f"simulated hang at a context of {context} tokens")
        if any(fault.context and context >= fault.context for fault in self._faults.of("crash")):
            raise RuntimeError(f"simulated crash at a context of {context} tokens (PDLAUNCH_SIM_FAULT)")

    async def _never(self, job: Job, why: str) -> NoReturn:
        log.debug("%s, request %s", why, job.rid)
        self._stuck.add(job.rid)
        self._publish()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def _compute_prompt(self, job: Job) -> Prompt:
        """The prefill itself: counts what the cache has and takes its time for the rest."""
        self._tally.move(job.rid, "running", len(job.prompt))
        await self._check_context(job, len(job.prompt))
        cached = 0 if job.is_health else self._cache.match(job.prompt)
        fresh = len(job.prompt) - cached
        delay = fresh * self._environment.prefill_token_s
        if self._role != "decode" and not job.is_health:
            delay += self._faults.delay(fresh, first=True, context=len(job.prompt))
        await asyncio.sleep(delay)
        if not job.is_health:
            self._tally.count("forward_passes")
            self._tally.count("prefill_compute", fresh)
            self._tally.count("prefill_cache", cached)
        return Prompt(len(job.prompt), tokens.digest(job.prompt), cached)

    async def _generate(self, job: Job, prompt: Prompt, limit: int) -> None:
        answer: list[int] = []
        if not job.is_health and self._faults.reached("no-token", prompt.tokens):
            await self._never(job, "simulated silence")
        for position in range(limit):
            context = prompt.tokens + position
            await self._check_context(job, context)
            delay = self._environment.token_s
            if self._role != "prefill" and not job.is_health:
                delay += self._faults.delay(1, first=position == 0, context=context)
            await asyncio.sleep(delay)
            token = tokens.generate(prompt.digest, position)
            answer.append(token)
            if not job.is_health:
                self._tally.grew(job.rid, context + 1)
            frames.send(self._writer, {"rid": job.rid, "token": token, "cached": prompt.cached_tokens})
        if not job.is_health:
            self._cache.insert([*job.prompt, *answer])
        ends = {"type": "stop", "matched": 2} if job.natural else {"type": "length", "length": limit}
        self._finish(job, ends)

    async def _whole(self, job: Job) -> None:
        self._tally.move(job.rid, "waiting", len(job.prompt))
        async with self._slots:
            prompt = await self._compute_prompt(job)
            await self._generate(job, prompt, job.limit)

    async def _prefill_half(self, job: Job) -> None:
        if job.alone:
            await self._whole(job._replace(limit=1))
            return
        begun = time.monotonic()
        self._tally.move(job.rid, "prefill_bootstrap", len(job.prompt))
        try:
            handover = await self._sender.wait_for_decode(job.room, self._environment.bootstrap_timeout_s)
        except TransferError as error:
            self._tally.count("bootstrap_failed")
            raise self._failed("Prefill bootstrap", "", job, error) from error
        bootstrapped = time.monotonic()
        try:
            self._tally.move(job.rid, "waiting", len(job.prompt))
            async with self._slots:
                prompt = await self._compute_prompt(job)
            self._tally.move(job.rid, "prefill_inflight", len(job.prompt))
            computed = time.monotonic()
            await (handover.acknowledged() if self._frozen() else handover.send(prompt))
        except TransferError as error:
            self._tally.count("transfer_failed")
            raise self._failed("Prefill transfer", "", job, error) from error
        finally:
            handover.close()
        self._tally.transferred(prompt.tokens, bootstrap_s=bootstrapped - begun, transfer_s=time.monotonic() - computed)
        await self._generate(job, prompt, 1)

    async def _decode_half(self, job: Job) -> None:
        if job.alone:
            await self._whole(job)
            return
        self._tally.move(job.rid, "decode_prealloc", len(job.prompt))
        bootstrap = job.host, job.port
        try:
            source = await self._receiver.locate(job.room, *bootstrap)
        except TransferError as error:
            self._tally.count("bootstrap_failed")
            raise self._failed("Decode handshake", "decode_req.", job, error) from error
        self._tally.move(job.rid, "decode_transfer", len(job.prompt))
        begun = time.monotonic()
        mine = Prompt(len(job.prompt), tokens.digest(job.prompt))
        timeout = self._environment.waiting_timeout_s
        try:
            arrives = (
                asyncio.Event().wait() if self._frozen() else self._receiver.receive(job.room, bootstrap, source, mine)
            )
            received = await asyncio.wait_for(arrives, timeout)
        except TimeoutError:
            reason = f"Request {job.room} timed out after {timeout:.1f}s in KVPoll.WaitingForInput"
            self._tally.count("transfer_failed")
            raise self._failed("Decode transfer", "decode_req.", job, TransferError(job.room, reason)) from None
        except TransferError as error:
            self._tally.count("transfer_failed")
            raise self._failed("Decode transfer", "decode_req.", job, error) from error
        assert isinstance(received, Prompt)
        self._tally.transferred(received.tokens, bootstrap_s=0.0, transfer_s=time.monotonic() - begun)
        self._tally.move(job.rid, "waiting", len(job.prompt))
        async with self._slots:
            self._tally.move(job.rid, "running", len(job.prompt))
            await self._generate(job, received, job.limit)

    def _frozen(self) -> bool:
        return any(self._seen > fault.after for fault in self._faults.of("frozen-transfer"))

    def _failed(self, what: str, owner: str, job: Job, error: TransferError) -> RefusedError:
        message = (
            f"{what} failed for request rank=0 {owner}req.rid={job.rid!r} "
            f"{owner}req.bootstrap_room={job.room} with exception {error}"
        )
        log.error(message)
        return RefusedError(500, message)


def kv_cache_dtype(settings: Settings) -> str:
    """The KV data type after resolution: `auto` is bfloat16."""
    dtype = settings.text("kv_cache_dtype")
    return "bfloat16" if dtype in ("auto", "bf16") else dtype


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
            asyncio.get_running_loop().call_later(
                fault.after_s, crash, RuntimeError(f"simulated crash after {fault.after_s:g} s (PDLAUNCH_SIM_FAULT)")
            )
    await scheduler.run(reader)


def main(settings: Settings, environment: Environment, faults: Faults, link: socket.socket) -> None:
    """Run the scheduler in this process until the server ends it."""
    try:
        asyncio.run(_main(settings, environment, faults, link))
    except Exception as error:  # noqa: BLE001  # what SGLang does: whatever it is, it goes into the log
        crash(error)
