"""How a prefill's scheduler makes itself known at the bootstrap server."""

import asyncio
import logging
from typing import Any, Final

from .arguments import Settings
from .environ import Environment
from .naming import VERSION
from .web import ask

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 5
_TIMEOUT: Final = 5  # times the first delay, as in SGLang, where they are 5 s and 1 s
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # what a wildcard is reached by


def reachable(host: str) -> str:
    """The address under which a listener on `host` is reached from this machine."""
    return _LOOPBACK.get(host, host)


def kv_cache_dtype(settings: Settings) -> str:
    """The KV data type after resolution: `auto` is bfloat16."""
    dtype = settings.text("kv_cache_dtype")
    return "bfloat16" if dtype in ("auto", "bf16") else dtype


def row(settings: Settings, rank_ip: str, rank_port: int) -> dict[str, Any]:
    """What a prefill rank says of itself; `rank_ip` and `rank_port` are where it hands out KV."""
    return {
        "attn_tp_size": settings.number("tp_size"),
        "attn_cp_size": 1,
        "attn_dp_size": 1,
        "system_dp_size": settings.number("dp_size"),
        "pp_size": settings.number("pp_size"),
        "rank_ip": rank_ip,
        "rank_port": rank_port,
        "page_size": settings.number("page_size"),
        "kv_cache_dtype": kv_cache_dtype(settings),
        "load_balance_method": settings.text("load_balance_method"),
        "prefill_http_port": settings.number("port"),
        "simulator": VERSION,
    }


async def register(settings: Settings, environment: Environment, rank: dict[str, Any]) -> None:
    """Register at whoever owns the bootstrap port; gives up after five attempts, and the server starts all the same."""
    host, port = reachable(settings.text("host")), settings.number("disaggregation_bootstrap_port")
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(environment.register_s * 2 ** (attempt - 1))
        try:
            patience = environment.register_s * _TIMEOUT
            status, _ = await ask("PUT", host, port, "/route", rank, timeout_s=patience)
        except OSError as error:
            reason = str(error) or type(error).__name__
        else:
            if status == 200:
                return
            reason = f"status {status}"
        log.warning("Prefill register attempt %d/%d failed: %s", attempt + 1, _ATTEMPTS, reason)
    log.error("Prefill instance failed to register to bootstrap server after %d retries", _ATTEMPTS)
