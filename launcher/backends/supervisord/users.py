"""Whether the users that services are to run as can be had: supervisord itself says so only in a service's log."""

from __future__ import annotations

import os
import pwd
import re

from launcher.errors import InputError


def check(programs: str) -> None:
    """Raise InputError for a ``user=`` that does not exist here or that only root could become."""
    for name in dict.fromkeys(re.findall(r"(?m)^user=(.*)$", programs)):
        try:
            uid = pwd.getpwnam(name).pw_uid
        except KeyError:
            raise InputError(
                f"user {name} does not exist on this machine",
                hint=f"useradd --system {name}, or take `user` out of the profile",
            ) from None
        if os.geteuid() not in (0, uid):
            raise InputError(
                f"only root can start services as {name}",
                hint="run pdlaunch as root, or take `user` out of the profile",
            )
