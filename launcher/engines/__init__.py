"""What is known of an engine: an SGLang environment or checkout, the CPU engine, the simulator."""

from launcher.engines.cpu import CPU_ENGINE_ARGS, CPU_ENGINE_ENV
from launcher.engines.facts import EngineFacts
from launcher.engines.found import describe, simulator
from launcher.engines.locations import engines_dir

__all__ = ["CPU_ENGINE_ARGS", "CPU_ENGINE_ENV", "EngineFacts", "describe", "engines_dir", "simulator"]
