"""Tells systemd that we are ready, alive and how we are: https://www.freedesktop.org/software/systemd/man/sd_notify.html."""

from __future__ import annotations

import contextlib
import os
import socket


class Notifier:
    """The socket that the manager gave us; without one everything is told to nobody."""

    def __init__(self) -> None:
        address = os.environ.get("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address  # @ names an abstract socket
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) if address else None

    def __call__(self, **words: str | int) -> None:
        """Send ``READY=1`` and the like; a manager that is just being restarted is no reason to stop."""
        if self._socket is not None:
            text = "\n".join(f"{name}={value}" for name, value in words.items())
            with contextlib.suppress(OSError):
                self._socket.sendto(text.encode(), self._address)

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()

    def status(self, text: str) -> None:
        """One line of how we are, and the sign of life that the manager's watchdog waits for."""
        self(WATCHDOG=1, STATUS=text.replace("\n", " "))
