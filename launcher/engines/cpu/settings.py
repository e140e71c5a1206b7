"""What a server of the CPU engine must be told beside what every server is told, each with its reason.

The planner adds these with origin ``engine``; a flag that the profile sets itself wins. Value and reason; an empty
value is a switch. Numbers are for SGLang 0.5.23 with the tiny model, measured on two cores.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CPU_ENGINE_ENV: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "SGLANG_USE_CPU_ENGINE": ("1", "SGLang's own switch for CPU serving; it also turns the compatibility layer on"),
        "UCX_TLS": ("tcp,self", "the same transport on every machine; without tcp NIXL cannot connect at all"),
        "OMP_NUM_THREADS": ("1", "several servers share the cores of this machine"),
        "HF_HUB_OFFLINE": ("1", "the model lies on this machine: nothing is looked up in a hub"),
    }
)

CPU_ENGINE_ARGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "device": ("cpu", "there is no GPU"),
        "max-total-tokens": ("4096", "else the KV pool takes 15 GB of host memory and 14 s at every start"),
        "max-running-requests": ("8", "what the pool above can hold"),
        "context-length": ("1024", "a quarter of the pool, so that several requests fit"),
        "disable-overlap-schedule": ("", "overlap hides kernel launches, of which a CPU has none"),
        "disaggregation-decode-retraction-backup": (
            "cpu_tensor",
            "the default, host_pool, pins memory through CUDA and stops a decode server at its start",
        ),
    }
)
