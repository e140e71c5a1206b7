"""GET /health: one token through the scheduler, or 503, as sglang/srt/entrypoints/http_server.py decides it."""

import asyncio
import itertools
import logging
import time
from typing import Final

from .job import Job
from .service import Service
from .web import Response

log = logging.getLogger(__name__)

_POLL_S: Final = 0.1
_numbers = itertools.count()


def health_job() -> Job:
    """The one-token request that SGLang sends itself."""
    return Job(rid=f"HEALTH_CHECK_{next(_numbers)}", prompt=[0], limit=1, is_health=True)


async def health(service: Service, path: str) -> Response:
    """Answer /health or /health_generate."""
    if service.leaving:
        log.info("Health check request received during shutdown. Returning 503.")
        return Response(503)
    if not service.up and not service.unhealthy:
        return Response(503)
    if path == "/health" and not service.environment.health_generates:
        return Response(200)
    begun = time.time()
    alive = await _heard(service, begun)
    service.up, service.unhealthy = alive, not alive
    if not alive:
        log.error(
            "Health check failed. Server couldn't get a response from detokenizer for last %g seconds. tic start time: "
            "%s. last_heartbeat time: %s",
            service.environment.health_timeout_s,
            time.strftime("%H:%M:%S", time.localtime(begun)),
            time.strftime("%H:%M:%S", time.localtime(service.engine.last_receive)),
        )
    return Response(200 if alive else 503)


async def _heard(service: Service, begun: float) -> bool:
    """Whether the scheduler says anything in time: a busy one that answers others is healthy too."""
    answer = service.start(health_job())
    drawing = asyncio.create_task(answer.complete())
    try:
        while time.time() < begun + service.environment.health_timeout_s:
            done, _ = await asyncio.wait((drawing,), timeout=_POLL_S)
            if done or service.engine.last_receive > begun:
                return True
        return False
    finally:
        drawing.cancel()
        await asyncio.gather(drawing, return_exceptions=True)
        await answer.close()
        service.engine.forget(answer.job.rid)
