"""systemd, where it runs: the system's for root, a user's own for others."""

from launcher.backends.systemd.backend import Systemd
from launcher.backends.systemd.systemctl import Systemctl, manager

__all__ = ["Systemctl", "Systemd", "manager"]
