"""Who stands behind a pid that holds something: user, age, command, and which deployment it belongs to."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.plan import MARK

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Holder:
    """One process."""

    pid: int
    user: str
    since: dt.datetime
    command: str
    deployment: str | None
    """The deployment of pdlaunch that started it; None for somebody else's."""
    service: str | None


def holders(pids: Iterable[int]) -> Mapping[int, Holder]:
    """Who each of `pids` is; one that has ended, or that lives where this process cannot see it, is left out."""
    found = {pid: holder for pid in set(pids) if (holder := _holder(pid))}
    return dict(sorted(found.items()))


def _holder(pid: int) -> Holder | None:
    import psutil  # only who is held up waits for it

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            since = dt.datetime.fromtimestamp(process.create_time(), dt.UTC).astimezone()
            words = process.cmdline() or [f"[{process.name()}]"]
            user = process.username()
    except psutil.Error:
        return None
    deployment, service = _mark(pid)
    command = " ".join(" ".join(words[:6]).split())  # what renames itself fills the rest with blanks
    return Holder(pid, user, since, command[:_LONGEST], deployment, service)


def _mark(pid: int) -> tuple[str | None, str | None]:
    """Deployment and service from the mark ``STATE_DIR/DEPLOYMENT/SERVICE`` in its environment."""
    prefix = os.fsencode(f"{MARK}=")
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None, None
    mark = next((os.fsdecode(v[len(prefix) :]) for v in environ if v.startswith(prefix)), None)
    if mark is None:
        return None, None
    deployment, _, service = mark.rpartition("/")
    return Path(deployment).name, service
