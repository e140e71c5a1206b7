"""The CPU engine: stock SGLang, NIXL and router in an environment of their own, and a tiny model made here."""

from launcher.engines.cpu.engine import CpuEngine, home, installed
from launcher.engines.cpu.install import install
from launcher.engines.cpu.settings import CPU_ENGINE_ARGS, CPU_ENGINE_ENV

__all__ = ["CPU_ENGINE_ARGS", "CPU_ENGINE_ENV", "CpuEngine", "home", "install", "installed"]
