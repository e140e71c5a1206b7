"""What a process holds beside its memory: libraries whose files are others by now, and listening sockets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from launcher.backends.sockets import opened
from launcher.observe.live import GONE, LiveProcess

_LIBRARY = re.compile(r"\.so(\.[\d.]+)?$")


def replaced(process: LiveProcess) -> tuple[str, ...]:
    """The loaded libraries whose files were replaced or removed since; none where we may not look."""
    try:
        lines = Path(f"/proc/{process.proc.pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return ()
    paths = {line.split(maxsplit=5)[5].removesuffix(GONE) for line in lines if line.endswith(GONE)}
    return tuple(sorted(path for path in paths if _LIBRARY.search(path)))


def listening(processes: Iterable[LiveProcess]) -> tuple[int, ...]:
    """The ports that any of them listens on."""
    return tuple(sorted(set(opened(process.proc for process in processes).values())))
