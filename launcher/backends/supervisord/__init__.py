"""supervisord, the embedded default where there is no systemd."""

from launcher.backends.supervisord.backend import Supervisord

__all__ = ["Supervisord"]
