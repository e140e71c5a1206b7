"""What a scheduler does with a prompt: prefill it, generate from it, and show the faults that come with either."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from . import tokens
from .arguments import Settings
from .cache import PrefixCache
from .environ import Environment
from .faults import Faults
from .frames import Message
from .job import Job
from .kv import Prompt
from .tally import Tally

log = logging.getLogger(__name__)

_SNAPSHOT_S: Final = 0.02
"""How long changes may gather before the server hears of them."""
_BEAT_S: Final = 1.0
"""How often the server hears of a scheduler that turns and changes nothing, as with SGLang's --sleep-on-idle."""


class Work:
    """The means of one scheduler: slots, cache, counters, faults, and where it says what it did."""

    def __init__(
        self, settings: Settings, environment: Environment, faults: Faults, tell: Callable[[Message], None]
    ) -> None:
        self.faults = faults
        self.environment = environment
        self.tally = Tally(self._changed)
        self._to_publish: asyncio.TimerHandle | None = None
        self.cache = PrefixCache(
            settings.number("page_size"),
            enabled=not settings.switch("disable_radix_cache"),
            capacity=settings.number("max_total_tokens"),
        )
        self.slots = asyncio.Semaphore(settings.number("max_running_requests"))
        self.stuck: set[str] = set()
        self._tell = tell
        self._capacity = settings.number("max_total_tokens")
        self._log_interval = settings.number("decode_log_interval")
        self._chunk = settings.number("chunked_prefill_size")
        self._seen = 0

    def publish(self) -> None:
        """Send a snapshot if anything changed since the last one."""
        if self._to_publish is not None:
            self._to_publish.cancel()
            self._to_publish = None
            self._tell({"snapshot": self.tally.snapshot()})

    async def beat(self) -> None:
        """Send a snapshot now and then, so that a scheduler which stands still can be told from an idle one."""
        while True:
            await asyncio.sleep(_BEAT_S)
            self._changed()

    def _changed(self) -> None:
        if self._to_publish is None:
            self._to_publish = asyncio.get_running_loop().call_later(_SNAPSHOT_S, self.publish)

    def finish(self, job: Job, reason: dict[str, Any], last: Message | None = None) -> None:
        """Tell the server that a request has ended and how, along with its last token."""
        self.place(job, None)
        self.publish()
        self._tell({"rid": job.rid, "finish": reason, **(last or {})})

    def place(self, job: Job, queue: str | None) -> None:
        """Move a request to a queue; health checks are in none, as they would make an idle server look busy."""
        if not job.is_health:
            self.tally.move(job.rid, queue, len(job.prompt))

    def arrive(self, job: Job) -> Job:
        """Number a request and show the faults that wait for a number of them."""
        if job.is_health:
            return job
        self._seen += 1
        job = job._replace(number=self._seen)
        if self.faults.due("crash", job.number):
            raise RuntimeError(f"simulated crash at request {job.number} (PDLAUNCH_SIM_FAULT)")
        if self.faults.due("hang", job.number):
            self.place(job, "running")
            self._stand_still()
        return job

    def _stand_still(self) -> NoReturn:
        log.warning("simulated hang: the scheduler stands still (PDLAUNCH_SIM_FAULT)")
        self.publish()
        while True:
            time.sleep(3600)  # blocks the event loop on purpose: that is the fault

    async def prefill(self, job: Job) -> Prompt:
        """Take in a prompt: count what the cache has and take the time that the rest takes."""
        self.place(job, "running")
        await self._check_context(job, len(job.prompt))
        cached = 0 if job.is_health else self.cache.match(job.prompt)
        fresh = len(job.prompt) - cached
        if not job.is_health:
            self.tally.count("prefill_cache", cached)
            await self._compute(fresh, len(job.prompt))
            log.info(
                "Prefill batch, #new-seq: 1, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req: %d, "
                "#queue-req: %d",
                fresh,
                cached,
                self.tally.used_tokens / self._capacity,
                self.tally.length("running"),
                self.tally.length("waiting"),
            )
        return Prompt(len(job.prompt), tokens.digest(job.prompt), cached)

    async def _compute(self, fresh: int, context: int) -> None:
        """Take the time that a prompt takes, chunk by chunk: each one is counted when it is done."""
        whole = fresh * self.environment.prefill_token_s + self.faults.delay(fresh, first=True, context=context)
        steps = max(1, -(-fresh // self._chunk))
        for step in range(steps):
            await asyncio.sleep(whole / steps)
            self.tally.count("forward_passes")
            self.tally.count("prefill_compute", min(self._chunk, fresh - step * self._chunk))

    async def generate(self, job: Job, prompt: Prompt, limit: int, *, delayed: bool) -> None:
        """Generate up to `limit` tokens and end the request; `delayed` is false for a prefill's one token."""
        silent = self.faults.reached("no-token", prompt.tokens) or self.faults.due("no-token", job.number)
        if silent and not job.is_health:
            await self._never(job)
        ends = {"type": "stop", "matched": 2} if job.natural else {"type": "length", "length": limit}
        if not limit:
            self.finish(job, ends)
        answer: list[int] = []
        for position in range(limit):
            context = prompt.tokens + position
            await self._check_context(job, context)
            if delayed and not job.is_health:
                slow = self.faults.delay(1, first=position == 0, context=context)
                await asyncio.sleep(self.environment.token_s + slow)
            else:
                await asyncio.sleep(0)
            answer.append(tokens.generate(prompt.digest, position))
            if not job.is_health:
                self._grew(job, context + 1)
            said = {"token": answer[-1], "cached": prompt.cached_tokens}
            if len(answer) < limit:
                self._tell({"rid": job.rid, **said})
            else:
                self._remember(job, answer)
                self.finish(job, ends, said)

    def _remember(self, job: Job, answer: list[int]) -> None:
        if not job.is_health:
            self.cache.insert([*job.prompt, *answer])

    def _grew(self, job: Job, context: int) -> None:
        self.tally.grew(job.rid, context)
        if self.tally.decoded % self._log_interval == 0:
            log.info(
                "Decode batch, #running-req: %d, #token: %d, token usage: %.2f, gen throughput (token/s): %.2f, "
                "#queue-req: %d",
                self.tally.length("running"),
                self.tally.used_tokens,
                self.tally.used_tokens / self._capacity,
                self.tally.throughput,
                self.tally.length("waiting"),
            )

    async def _check_context(self, job: Job, context: int) -> None:
        """Where a context has grown to what a fault names, the request stops or the scheduler dies."""
        if job.is_health:
            return
        if self.faults.reached("crash", context):
            raise RuntimeError(f"simulated crash at a context of {context} tokens (PDLAUNCH_SIM_FAULT)")
        if self.faults.reached("hang", context):
            await self._never(job)

    async def _never(self, job: Job) -> None:
        """Keep a request running for ever, without a word and deaf to aborts, as a kernel that spins would."""
        self.stuck.add(job.rid)
        self.publish()
        await asyncio.Event().wait()
