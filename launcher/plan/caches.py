"""Where compiled kernels are kept: keyed by what compiles them, never by the profile.

A key made of the profile would cost ten to fifteen minutes of compiling per change. What decides whether a compiled
kernel still fits is the compiled packages, CUDA, the driver and the GPU model.
"""

from __future__ import annotations

import hashlib
import json
import re

from launcher.plan.facts import Environment, MachineFacts

COMPILED = frozenset(
    {
        "apache-tvm-ffi", "cuda-python", "cutlass-dsl", "deep-gemm", "flash-attn", "flash-mla", "flashinfer-cubin",
        "flashinfer-python", "nvidia-cutlass-dsl", "quack-kernels", "sgl-deep-gemm", "sgl-kernel", "sglang",
        "sglang-kernel", "tilelang", "torch", "triton", "xgrammar",
    }
)  # fmt: skip
"""Distributions that hold compiled code or compile it."""

VARIABLES = {
    "XDG_CACHE_HOME": "xdg",
    "SGLANG_CACHE_DIR": "sglang",
    "SGLANG_JIT_CACHE_DIR": "sglang/jit",  # does not follow SGLANG_CACHE_DIR
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TORCH_EXTENSIONS_DIR": "torch-extensions",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "TILELANG_CACHE_DIR": "tilelang",
    "CUDA_CACHE_PATH": "cuda",
}
"""Cache variables of the engine and of what it compiles with, and their folders below the key."""


def cache_key(environment: Environment | None, machine: MachineFacts) -> str:
    """A folder name such as ``sglang-0.5.23-rtx-pro-6000-1f0c9a3e``."""
    if environment is None:
        return "unknown"
    models = sorted(set(machine.gpus or ()))
    compiled = {n: v for n, v in sorted(environment.distributions.items()) if n.lower().replace("_", "-") in COMPILED}
    inputs = [compiled, environment.cuda, machine.driver, models]
    digest = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:8]
    return f"sglang-{environment.version}-{_slug(models[0]) if models else 'cpu'}-{digest}"


def _slug(model: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-").removeprefix("nvidia-").split("-")
    return "-".join(words[:4])
