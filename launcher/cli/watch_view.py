"""How the watcher's word looks in `status`: what hangs and since when, who gave a token last, where evidence lies."""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING

from launcher.cli.output import duration

if TYPE_CHECKING:
    from launcher.operations.status import ServiceStatus, Status


def state(seen: Status) -> str:
    """The deployment's state; a hang stands out, with the time of its beginning."""
    if seen.state != "hung" or seen.watch is None or seen.watch.since is None:
        return seen.state
    return f"HUNG since {dt.datetime.fromtimestamp(seen.watch.since).astimezone():%H:%M}"


def findings(seen: Status) -> list[str]:
    """What is wrong, a line each, with how long it has been so."""
    found = seen.watch.findings if seen.watch else ()
    return [f"{f.service}: {f.words} (since {dt.datetime.fromtimestamp(f.since).astimezone():%H:%M:%S})" for f in found]


def nobody(seen: Status) -> list[str]:
    """That nobody watches, where the profile wants it watched."""
    return [] if seen.watch is None or seen.watch.watching else [f"nobody watches: pdlaunch watch -d {seen.deployment}"]


def heading(seen: Status) -> tuple[str, ...]:
    """The column of the last token, where a watcher knows it."""
    return ("last token",) if seen.watch and seen.watch.watching else ()


def last_token(seen: Status, service: ServiceStatus) -> tuple[str, ...]:
    """How long ago a server gave one."""
    if not heading(seen):
        return ()
    return (duration(max(0.0, time.time() - service.last_token)) if service.last_token else "-",)


def evidence(seen: Status) -> list[str]:
    """Where it lies."""
    return [seen.watch.evidence] if seen.watch and seen.watch.evidence else []
