"""The folders that services write compiled code into: made before the start, and theirs."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from launcher.engines.bytecode import prepare
from launcher.plan import Plan
from launcher.render import Layout


def prepare_caches(plan: Plan, layout: Layout) -> None:
    """Make every cache folder that `plan` names, owned by the service's user where root prepares it for another."""
    for service in plan.services:
        for variable in service.env:
            if variable.root == "cache":
                _make(Path(layout.value(variable)), layout.cache, service.user)
    digest = plan.engine.snapshot
    if digest and not (layout.bytecode / digest).is_dir():
        prepare(layout.engines / digest, layout.bytecode / digest, {}, None)
    if digest:
        _give(layout.bytecode / digest, next((s.user for s in plan.services if s.user), None))


def _make(folder: Path, top: Path, user: str | None) -> None:
    missing = [p for p in (folder, *folder.parents) if p.is_relative_to(top) and p != top and not p.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        _own(path, user)
    _give(folder, user)  # also what root's own servers had written, before the profile named a user


def _give(tree: Path, user: str | None) -> None:
    """The whole tree to the service's user, once: its top tells whether that was done."""
    if user is None or os.geteuid() != 0 or tree.stat().st_uid == pwd.getpwnam(user).pw_uid:
        return
    for folder, _, names in os.walk(tree):
        for path in (*(Path(folder) / name for name in names), *([Path(folder)] if Path(folder) != tree else [])):
            _own(path, user)
    _own(tree, user)


def _own(path: Path, user: str | None) -> None:
    if user is not None and os.geteuid() == 0:
        owner = pwd.getpwnam(user)
        os.chown(path, owner.pw_uid, owner.pw_gid)
