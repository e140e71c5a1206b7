"""Lines of pdlaunch's own in systemd's journal, so that it tells in order what was done and what became of it.

The native protocol: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
"""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

from launcher.render.systemd import target_unit

SOCKET = Path("/run/systemd/journal/socket")
NOTICE, WARNING = 5, 4
"""Priorities of syslog(3)."""


def tell(deployment: str, text: str, priority: int = NOTICE) -> None:
    """Write one line, which `journalctl -u 'pd-NAME*'` shows among those of the services.

    A journal that is not there or takes nothing is no reason to stop.
    """
    # What an authorized program says of a unit: journalctl -u looks for it in this field.
    unit = "OBJECT_SYSTEMD_UNIT" if os.geteuid() == 0 else "OBJECT_SYSTEMD_USER_UNIT"
    fields = {
        "MESSAGE": " ".join(text.split()),
        "PRIORITY": str(priority),
        "SYSLOG_IDENTIFIER": "pdlaunch",
        unit: target_unit(deployment),
    }
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as door:
        door.sendto("".join(f"{name}={value}\n" for name, value in fields.items()).encode(), str(SOCKET))
