"""The folders that services write compiled code into: made before the start, and theirs."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from launcher.plan import Plan
from launcher.render import Layout


def prepare_caches(plan: Plan, layout: Layout) -> None:
    """Make every cache folder that `plan` names, owned by the service's user where root prepares it for another."""
    for service in plan.services:
        for variable in service.env:
            if variable.root == "cache":
                _make(Path(layout.value(variable)), layout.cache, service.user)


def _make(folder: Path, top: Path, user: str | None) -> None:
    missing = [p for p in (folder, *folder.parents) if p.is_relative_to(top) and p != top and not p.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if user is not None and os.geteuid() == 0:
        owner = pwd.getpwnam(user)
        for path in missing:
            os.chown(path, owner.pw_uid, owner.pw_gid)
