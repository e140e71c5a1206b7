"""The way of a request through an aggregated server, and of its two halves through a prefill and a decode server.

Queues and messages as in sglang/srt/disaggregation/{prefill,decode}.py of 0.5.23.
"""

import asyncio
import logging
import time

from . import kv, tokens
from .job import Job, RefusedError
from .kv import Prompt, TransferError
from .work import Work

log = logging.getLogger(__name__)


async def aggregated(work: Work, job: Job) -> None:
    """Prefill and generate in one place."""
    work.place(job, "waiting")
    async with work.slots:
        prompt = await work.prefill(job)
        await work.generate(job, prompt, job.limit, delayed=True)


async def prefill(work: Work, sender: kv.Sender, job: Job) -> None:
    """Wait for the decode half, prefill, hand the KV over, answer with the first token."""
    if job.alone:
        await aggregated(work, job._replace(limit=1))
        return
    begun = time.monotonic()
    work.place(job, "prefill_bootstrap")
    try:
        handover = await sender.wait_for_decode(job.room, work.environment.bootstrap_timeout_s)
    except TransferError as error:
        raise _failed(work, "Prefill bootstrap", job, error) from error
    bootstrapped = time.monotonic()
    try:
        work.place(job, "waiting")
        async with work.slots:
            prompt = await work.prefill(job)
        work.place(job, "prefill_inflight")
        computed = time.monotonic()
        await handover.send(None if work.faults.due("frozen-transfer", job.number) else prompt)
    except TransferError as error:
        raise _failed(work, "Prefill transfer", job, error) from error
    finally:
        handover.close()
    work.tally.transferred(prompt.tokens, bootstrap_s=bootstrapped - begun, transfer_s=time.monotonic() - computed)
    await work.generate(job, prompt, 1, delayed=False)


async def decode(work: Work, receiver: kv.Receiver, job: Job) -> None:
    """Find the prefill half, receive the KV, generate."""
    if job.alone:
        await aggregated(work, job)
        return
    work.place(job, "decode_prealloc")
    begun = time.monotonic()
    bootstrap = job.host, job.port
    try:
        source = await receiver.locate(job.room, *bootstrap)
    except TransferError as error:
        raise _failed(work, "Decode handshake", job, error) from error
    work.place(job, "decode_transfer")
    located = time.monotonic()
    prompt = await _receive(work, receiver, job, source)
    work.tally.transferred(prompt.tokens, bootstrap_s=located - begun, transfer_s=time.monotonic() - located)
    work.place(job, "waiting")
    async with work.slots:
        work.place(job, "running")
        await work.generate(job, prompt, job.limit, delayed=True)


async def _receive(work: Work, receiver: kv.Receiver, job: Job, source: tuple[str, int]) -> Prompt:
    mine = Prompt(len(job.prompt), tokens.digest(job.prompt))
    timeout = work.environment.waiting_timeout_s
    frozen = work.faults.due("frozen-transfer", job.number)
    try:
        async with asyncio.timeout(timeout):
            return await receiver.receive(job.room, (job.host, job.port), source, mine, frozen=frozen)
    except TimeoutError:
        late = TransferError(job.room, f"Request {job.room} timed out after {timeout:.1f}s in KVPoll.WaitingForInput")
        raise _failed(work, "Decode transfer", job, late) from None
    except TransferError as error:
        raise _failed(work, "Decode transfer", job, error) from error


def _failed(work: Work, what: str, job: Job, error: TransferError) -> RefusedError:
    """Count and log a failed half; returns the error that its client gets."""
    work.tally.count("transfer_failed" if what.endswith("transfer") else "bootstrap_failed")
    owner = "decode_req." if what.startswith("Decode") else ""
    message = (
        f"{what} failed for request rank=0 {owner}req.rid={job.rid!r} "
        f"{owner}req.bootstrap_room={job.room} with exception {error}"
    )
    log.error("%s", message)
    return RefusedError(message, 500)
