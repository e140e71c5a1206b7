"""What a profile wants done on a hang, as a command line: pure, so that it can be told before it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from launcher.profile.model import Watch
from launcher.watch.verdict import Finding


@dataclass(frozen=True, slots=True)
class Action:
    """What to do, or why nothing is done."""

    words: str
    """For the story: ``restarting decode-0``."""
    command: tuple[str, ...] = ()
    """Words after `pdlaunch`; empty where nothing is done."""


def action(watch: Watch, finding: Finding, acted: Sequence[float], deployment: str, now: float) -> Action:
    """What `watch` wants for `finding`; `acted` has the times of earlier actions, seconds since the epoch."""
    if watch.on_hang in ("collect", "none"):
        return Action("left as it is, as the profile says")
    lately = sum(now - at < watch.within for at in acted)
    if lately >= watch.times:
        return Action(f"left as it is: acted {lately} times in {watch.within / 60:g} minutes, which is all it may")
    why = f"{finding.service} hung: {finding.words}"
    kind, _, name = watch.on_hang.partition(":")
    if kind == "rollback":
        command = ("rollback", "--to", name, "--yes", "--now", "--if-free", "-d", deployment, "-m", why)
        return Action(f"going back to {name}", command)
    services = (finding.service, *finding.partners)
    return Action(f"restarting {' and '.join(services)}", ("restart", *services, "--now", "-d", deployment, "-m", why))
