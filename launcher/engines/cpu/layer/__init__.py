"""What lets a stock SGLang serve on a machine without a GPU; see README.md for what it replaces and why.

The engine's environment holds this package as ``pdlaunch_cpu_layer`` beside a ``.pth`` file that calls
`activate` in every Python process. Without ``SGLANG_USE_CPU_ENGINE=1`` that does nothing at all.
"""

import os

SWITCH = "SGLANG_USE_CPU_ENGINE"


def activate() -> bool:
    """Install the layer when this process belongs to the CPU engine; say whether it is in.

    SGLang starts its schedulers as new interpreters, so this has to happen at interpreter start and not in
    a launch script. Calling it again changes nothing: Python reads a virtual environment's ``.pth`` files twice.
    """
    if os.environ.get(SWITCH) != "1":
        return False
    from . import events, nixl, stand_ins

    if stand_ins.installed():
        return True
    stand_ins.install()
    nixl.install()
    events.install()
    return True
