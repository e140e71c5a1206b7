"""What is known of an engine: an SGLang environment or checkout, the CPU engine, the simulator."""

from launcher.engines.cpu import CPU_ENGINE_ARGS, CPU_ENGINE_ENV

__all__ = ["CPU_ENGINE_ARGS", "CPU_ENGINE_ENV"]
