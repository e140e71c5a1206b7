"""systemd, where it runs: the system's for root, a user's own for others."""

from typing import TYPE_CHECKING

from launcher.backends.systemd.systemctl import Systemctl, manager
from launcher.doors import later

if TYPE_CHECKING:
    from launcher.backends.systemd.backend import Systemd

__all__ = ["Systemctl", "Systemd", "manager"]

__getattr__ = later(__name__, {"Systemd": "backend"})
