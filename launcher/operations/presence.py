"""Whether a deployment that holds something still runs."""

from __future__ import annotations

from pathlib import Path

from launcher.observe.running import running
from launcher.store import Hold


def hold_is_alive(hold: Hold) -> bool:
    """Whether any process of the holder's deployment is there, whoever supervises it."""
    return bool(running(Path(hold.state)))
