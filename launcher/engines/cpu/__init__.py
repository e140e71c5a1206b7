"""The CPU engine: stock SGLang, NIXL and router in an environment of their own, and a tiny model made here."""

from typing import TYPE_CHECKING

from launcher.doors import later
from launcher.engines.cpu.settings import CPU_ENGINE_ARGS, CPU_ENGINE_ENV

if TYPE_CHECKING:
    from launcher.engines.cpu.engine import CpuEngine, home, installed
    from launcher.engines.cpu.installing import install

__all__ = ["CPU_ENGINE_ARGS", "CPU_ENGINE_ENV", "CpuEngine", "home", "install", "installed"]

__getattr__ = later(__name__, {**dict.fromkeys(("CpuEngine", "home", "installed"), "engine"), "install": "installing"})
