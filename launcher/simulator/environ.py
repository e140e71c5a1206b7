"""The environment variables the simulator reads, as data, and their values read once.

Names that begin with SGLANG_ are SGLang's own (`sglang/srt/environ.py` of 0.5.23) and mean here what they mean there;
those that begin with PDLAUNCH_SIM_ are the simulator's.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, Self

KNOWN_ENV: Final[dict[str, str]] = {
    "PDLAUNCH_SIM_FAULT": "faults to show, a list such as `hang:decode:48k,load:5s`; see launcher/simulator/faults.py",
    "PDLAUNCH_SIM_TOKEN_MS": "milliseconds per generated token; default 0",
    "PDLAUNCH_SIM_PREFILL_US": "microseconds per prompt token that no cache holds; default 0",
    "PDLAUNCH_SIM_LINGER_S": "seconds for which a crashed server keeps its port open before it dies; default 5",
    "PDLAUNCH_SIM_DRAIN_S": "seconds between two looks at the running requests after SIGTERM; default 0.1, SGLang's 5",
    "PDLAUNCH_SIM_REGISTER_S": "seconds before a failed registration at the bootstrap server is tried again, doubled "
    "each time; default 0.1, SGLang's 1",
    "SGLANG_HEALTH_CHECK_TIMEOUT": "seconds after which /health gives up on a silent scheduler; default 20",
    "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "false makes /health answer without asking the scheduler",
    "SGLANG_EXPOSE_OWN_ENV_VARS": "true shows the known variables in /server_info",
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "seconds a decode half waits for its prefill half; default 300",
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "seconds a prefill half waits for its decode half; default 300",
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "seconds between two looks at a lost prefill; default 5",
    "SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE": "failed looks after which its requests fail; default 2",
    "SGLANG_HOST_IP": "address a prefill scheduler gives out for KV transfer; default --host",
    "SGLANG_TIMEOUT_KEEP_ALIVE": "seconds an idle HTTP connection is kept; default 5",
    "SGLANG_SM120_MMA_TARGET_CTAS": "512 or more: a decode server hangs on contexts above 48k tokens; short ones pass",
}

_TRUE: Final = frozenset({"true", "1", "yes", "y"})  # sglang/srt/environ.py, EnvBool


class Environment(NamedTuple):
    """What the environment asks for; durations in seconds."""

    fault: str = ""
    token_s: float = 0.0
    prefill_token_s: float = 0.0
    linger_s: float = 5.0
    drain_s: float = 0.1
    register_s: float = 0.1
    health_timeout_s: float = 20.0
    health_generates: bool = True
    expose_env: bool = False
    waiting_timeout_s: float = 300.0
    bootstrap_timeout_s: float = 300.0
    heartbeat_s: float = 5.0
    heartbeat_failures: int = 2
    host_ip: str = ""
    keep_alive_s: float = 5.0
    target_ctas: int = 0
    own_variables: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """Read the variables of KNOWN_ENV.

        A number that is none is a warning in a variable of SGLang's, which then takes its default as SGLang does;
        in one of the simulator's it raises ValueError naming it.
        """
        warnings: list[str] = []

        def number(name: str, default: float) -> float:
            text = environ.get(name, "").strip()
            if not text:
                return default
            try:
                return float(text)
            except ValueError:
                if name.startswith("PDLAUNCH_"):
                    raise ValueError(f"{name}={text!r} is not a number") from None
                warnings.append(f"Invalid value for {name}: {text!r} is not a number, using default {default:g}")
                return default

        def truth(name: str, default: bool) -> bool:
            text = environ.get(name, "").strip().lower()
            return text in _TRUE if text else default

        return cls(
            fault=environ.get("PDLAUNCH_SIM_FAULT", ""),
            token_s=number("PDLAUNCH_SIM_TOKEN_MS", 0) / 1e3,
            prefill_token_s=number("PDLAUNCH_SIM_PREFILL_US", 0) / 1e6,
            linger_s=number("PDLAUNCH_SIM_LINGER_S", 5),
            drain_s=number("PDLAUNCH_SIM_DRAIN_S", 0.1),
            register_s=number("PDLAUNCH_SIM_REGISTER_S", 0.1),
            health_timeout_s=number("SGLANG_HEALTH_CHECK_TIMEOUT", 20),
            health_generates=truth("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", True),
            expose_env=truth("SGLANG_EXPOSE_OWN_ENV_VARS", False),
            waiting_timeout_s=number("SGLANG_DISAGGREGATION_WAITING_TIMEOUT", 300),
            bootstrap_timeout_s=number("SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT", 300),
            heartbeat_s=number("SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL", 5),
            heartbeat_failures=max(1, int(number("SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE", 2))),
            host_ip=environ.get("SGLANG_HOST_IP", ""),
            keep_alive_s=number("SGLANG_TIMEOUT_KEEP_ALIVE", 5),
            target_ctas=int(number("SGLANG_SM120_MMA_TARGET_CTAS", 0)),
            own_variables=tuple((name, environ[name]) for name in KNOWN_ENV if name in environ),
            warnings=tuple(warnings),
        )
