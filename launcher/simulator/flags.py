"""The command line the simulator knows: SGLang 0.5.23's names, types and defaults, as data.

Source: `sglang/srt/arg_groups/fields/*.py` of the 0.5.23 wheel. A flag that is not listed here is not an
error on the simulator's command line (it is recorded), so the list is for those who check names before they start it.
"""

from typing import Final, NamedTuple


class Flag(NamedTuple):
    """One flag: its name without dashes, how its value is read, what it is if not given, what it may be."""

    name: str
    type: str  # "str", "int", "float" or "switch"
    default: str | int | float | bool | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    required: bool = False

    @property
    def key(self) -> str:
        """The name as `/server_info` spells it."""
        return self.name.replace("-", "_")


_KV_DTYPES = ("auto", "fp8_e5m2", "fp8_e4m3", "mxfp8", "bf16", "bfloat16", "nvfp4", "fp4_mx_block16")
_TRANSFERS = ("mooncake", "nixl", "ascend", "fake", "mori", "mooncake_tcp")

_FLAGS: Final = (
    # who and where
    Flag("model-path", "str", required=True, aliases=("model",)),
    Flag("served-model-name", "str"),
    Flag("tokenizer-path", "str"),
    Flag("host", "str", "127.0.0.1"),
    Flag("port", "int", 30000),
    Flag("nccl-port", "int"),
    Flag("dist-init-addr", "str", aliases=("nccl-init-addr",)),
    Flag("device", "str"),
    Flag("base-gpu-id", "int", 0),
    Flag("gpu-id-step", "int", 1),
    Flag("random-seed", "int"),
    # parallelism
    Flag("tp-size", "int", 1, aliases=("tensor-parallel-size",)),
    Flag("pp-size", "int", 1, aliases=("pipeline-parallel-size",)),
    Flag("dp-size", "int", 1, aliases=("data-parallel-size",)),
    Flag("ep-size", "int", 1, aliases=("expert-parallel-size", "ep")),
    Flag("enable-dp-attention", "switch", default=False),
    Flag("load-balance-method", "str", "auto"),
    Flag("disable-custom-all-reduce", "switch", default=False),
    # prefill/decode disaggregation
    Flag("disaggregation-mode", "str", "null", choices=("null", "prefill", "decode")),
    Flag("disaggregation-transfer-backend", "str", "mooncake", choices=_TRANSFERS),
    Flag("disaggregation-bootstrap-port", "int", 8998),
    Flag("disaggregation-ib-device", "str"),
    Flag("disaggregation-decode-enable-radix-cache", "switch", default=False),
    Flag("disaggregation-decode-retraction-backup", "str"),
    # model and memory
    Flag("context-length", "int"),
    Flag("dtype", "str", "auto"),
    Flag("quantization", "str"),
    Flag("kv-cache-dtype", "str", "auto", choices=_KV_DTYPES),
    Flag("trust-remote-code", "switch", default=False),
    Flag("mem-fraction-static", "float"),
    Flag("max-total-tokens", "int"),
    Flag("max-running-requests", "int"),
    Flag("max-prefill-tokens", "int", 16384),
    Flag("chunked-prefill-size", "int"),
    Flag("page-size", "int"),
    Flag("swa-full-tokens-ratio", "float"),
    Flag("schedule-policy", "str", "fcfs"),
    Flag("schedule-conservativeness", "float", 1.0),
    Flag("disable-radix-cache", "switch", default=False),
    Flag("disable-overlap-schedule", "switch", default=False),
    # kernels
    Flag("attention-backend", "str"),
    Flag("moe-runner-backend", "str", "auto"),
    Flag("moe-a2a-backend", "str", "none"),
    Flag("cuda-graph-max-bs-decode", "int"),
    Flag("disable-decode-cuda-graph", "switch", default=False),
    Flag("disable-prefill-cuda-graph", "switch", default=False),
    Flag("disable-flashinfer-autotune", "switch", default=False),
    Flag("speculative-algorithm", "str"),
    Flag("speculative-num-steps", "int"),
    Flag("speculative-eagle-topk", "int"),
    Flag("speculative-num-draft-tokens", "int"),
    # answers and logs
    Flag("reasoning-parser", "str"),
    Flag("tool-call-parser", "str"),
    Flag("enable-cache-report", "switch", default=False),
    Flag("enable-metrics", "switch", default=False),
    Flag("log-level", "str", "info", choices=("debug", "info", "warning", "error")),
    Flag("log-level-http", "str"),
    Flag("log-requests", "switch", default=False),
    Flag("decode-log-interval", "int", 40),
    Flag("watchdog-timeout", "float", 300.0),
    Flag("soft-watchdog-timeout", "float"),
    Flag("skip-server-warmup", "switch", default=False),
)

KNOWN_FLAGS: Final = {flag.name: flag for flag in _FLAGS}
