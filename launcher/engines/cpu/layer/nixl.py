"""NIXL told the truth about where the KV cache lies.

SGLang labels every KV pool ``VRAM`` unless the pool says otherwise (0.5.23, ``srt/disaggregation/nixl/conn.py``,
``_normalize_kv_mem_kinds``). On the CPU engine the pool is host memory, and registering it as VRAM ends in
``NIXL_ERR_BACKEND``. So here an agent's table of memory kinds reads ``DRAM`` under the names of GPU memory; the agent,
UCX and the bytes that move are the real ones.
"""

from functools import wraps
from types import ModuleType

from .hooks import after_import

# `nixl` hands on to the wheel built for one generation of CUDA; both wheels hold the same Python interface.
MODULES = ("nixl_cu12._api", "nixl_cu13._api")


def relabel(api: ModuleType) -> None:
    """Let each agent of `api` take GPU memory's names for host memory."""
    construct = api.nixl_agent.__init__

    @wraps(construct)
    def __init__(self: ModuleType, *args: object, **options: object) -> None:  # noqa: N807 - it is one
        construct(self, *args, **options)
        kinds = self.nixl_mems
        kinds.update(VRAM=kinds["DRAM"], cuda=kinds["DRAM"])

    api.nixl_agent.__init__ = __init__


def install() -> None:
    """Relabel as soon as NIXL's Python interface is imported."""
    for name in MODULES:
        after_import(name, relabel)
