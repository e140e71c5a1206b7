"""What is known of an engine: an SGLang environment or checkout, the CPU engine, the simulator."""

from typing import TYPE_CHECKING

from launcher.doors import later

if TYPE_CHECKING:
    from launcher.engines.cpu import CPU_ENGINE_ARGS, CPU_ENGINE_ENV, CpuEngine
    from launcher.engines.cpu import home as cpu_home
    from launcher.engines.cpu import install as install_cpu
    from launcher.engines.cpu import installed as installed_cpu
    from launcher.engines.facts import EngineFacts
    from launcher.engines.found import describe, simulator
    from launcher.engines.locations import engines_dir
    from launcher.engines.registry import Registered, lookup, register, registered, resolve, unregister

__all__ = [
    "CPU_ENGINE_ARGS",
    "CPU_ENGINE_ENV",
    "CpuEngine",
    "EngineFacts",
    "Registered",
    "cpu_home",
    "describe",
    "engines_dir",
    "install_cpu",
    "installed_cpu",
    "lookup",
    "register",
    "registered",
    "resolve",
    "simulator",
    "unregister",
]

__getattr__ = later(
    __name__,
    {
        **dict.fromkeys(("CPU_ENGINE_ARGS", "CPU_ENGINE_ENV", "CpuEngine"), "cpu"),
        "cpu_home": "cpu:home",
        "install_cpu": "cpu:install",
        "installed_cpu": "cpu:installed",
        "EngineFacts": "facts",
        **dict.fromkeys(("describe", "simulator"), "found"),
        "engines_dir": "locations",
        **dict.fromkeys(("Registered", "lookup", "register", "registered", "resolve", "unregister"), "registry"),
    },
)
