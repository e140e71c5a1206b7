"""What a deployment holds on this machine: GPUs, ports and its name, one file each, seen by all users.

A hold outlives the command that took it, for as long as the deployment runs, and counts for nothing after a reboot.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from pydantic import ValidationError

from launcher.errors import BusyError, PdlaunchError
from launcher.frozen import Frozen
from launcher.plan.model import Plan
from launcher.render.layout import Layout
from launcher.store.files import TEMPORARY, in_words, write
from launcher.store.holds_folder import folders, locked
from launcher.store.journal import now
from launcher.store.process import Process, boot_id, this_process
from launcher.store.writer import moment

_RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Hold(Frozen):
    """One resource in one deployment's hands."""

    resource: str
    """``gpu-0``, ``port-31000``, ``name-dsv4-flash``."""
    deployment: str
    state: str
    """The deployment's state folder: two users may have deployments of one name."""
    since: dt.datetime
    by: str
    why: str | None
    process: Process
    """The command that took it, which has usually ended long ago."""

    def of(self, layout: Layout) -> bool:
        """Whether that deployment holds it."""
        return self.deployment == layout.deployment and self.state == str(layout.state)


def resources(plan: Plan) -> tuple[str, ...]:
    """What a plan needs for itself alone: its name, its GPUs, the ports of its services and of its watcher."""
    gpus = {gpu for service in plan.services for gpu in service.gpus}
    ports = {port for service in plan.services for port in (*service.ports.values(), *service.reserved)}
    if plan.watch.metrics_port is not None:
        ports.add(plan.watch.metrics_port)
    return (
        f"name-{plan.deployment}",
        *(f"gpu-{gpu}" for gpu in sorted(gpus)),
        *(f"port-{port}" for port in sorted(ports)),
    )


def claim(
    layout: Layout, wanted: Iterable[str], *, by: str, why: str | None = None, is_alive: Callable[[Hold], bool]
) -> tuple[Hold, ...]:
    """Take all of `wanted` for the deployment, or none of them; what it holds already is renewed.

    `is_alive` says whether the deployment of somebody else's hold still runs. It is asked only where that cannot be
    told otherwise: a hold from before the last boot is void, and one whose command still runs counts.

    Raises:
        BusyError: some are held; the message names holder, person, time and reason.
        PdlaunchError: the folder of holds cannot be written, or the file of a wanted resource is no hold.
    """
    names = sorted(set(wanted))
    if bad := [name for name in names if not _RESOURCE.fullmatch(name)]:
        raise ValueError(f"no names of resources: {bad}")
    with in_words("write holds", folders()[0]), locked() as folder:
        _sweep(folder)
        found = {name: hold for name in names if (hold := _find(name)) is not None}
        taken = [hold for hold in found.values() if not hold.of(layout) and _counts(hold, is_alive)]
        if taken:
            raise _taken(layout, taken)
        for name in found:
            _must_be_ours(name)
        return _write_all(folder, [_renewed(layout, name, found.get(name), by, why) for name in names])


def release(layout: Layout, *, keep: Collection[str] = ()) -> tuple[str, ...]:
    """Give back what the deployment holds, but for `keep`; the names of what was given back.

    Raises:
        PdlaunchError: another user's file cannot be removed.
    """
    with in_words("give back holds", folders()[0]), locked():
        mine = [hold.resource for hold in holders().values() if hold.of(layout) and hold.resource not in keep]
        for name in mine:
            _must_be_ours(name)
        for name in mine:
            for place in folders():
                (place / name).unlink(missing_ok=True)
        return tuple(mine)


def holders(names: Iterable[str] | None = None) -> dict[str, Hold]:
    """Who took these resources, or any at all, since the last boot; whether those deployments still run is not asked.

    A file that is no hold is left out: it is for `claim` to complain, when someone wants that resource.
    """
    with in_words("look at holds", folders()[0]):
        if names is None:
            places = [place for place in folders() if place.is_dir()]
            names = {path.name for place in places for path in place.iterdir() if path.suffix != TEMPORARY}
        found = {}
        for name in sorted(names):
            with contextlib.suppress(PdlaunchError):
                if (hold := _find(name)) is not None and hold.process.boot == boot_id():
                    found[name] = hold
        return found


def _find(name: str) -> Hold | None:
    for place in folders():
        with contextlib.suppress(FileNotFoundError):
            content = (place / name).read_bytes()
            try:
                return Hold.model_validate_json(content)
            except ValidationError as error:
                raise PdlaunchError(
                    f"{place / name} is no hold that pdlaunch wrote, so nobody can tell who has {name}",
                    hint=f"if nothing uses it, remove the file: rm {place / name}",
                ) from error
    return None


def _counts(hold: Hold, is_alive: Callable[[Hold], bool]) -> bool:
    return hold.process.boot == boot_id() and (hold.process.alive() or is_alive(hold))


def _renewed(layout: Layout, name: str, before: Hold | None, by: str, why: str | None) -> Hold:
    still = before is not None and before.of(layout) and before.process.boot == boot_id()
    return Hold(
        resource=name,
        deployment=layout.deployment,
        state=str(layout.state),
        since=before.since if before is not None and still else now(),
        by=by,
        why=why,
        process=this_process(),
    )


def _write_all(folder: Path, holds: list[Hold]) -> tuple[Hold, ...]:
    """Prepare every file first: what can fail for want of space fails before anything is taken."""
    prepared = []
    try:
        for hold in holds:
            temporary = folder / f"{hold.resource}.{os.getpid()}{TEMPORARY}"
            prepared.append((temporary, folder / hold.resource))
            write(temporary, hold.model_dump_json().encode() + b"\n", 0o644)
        for temporary, final in prepared:
            temporary.rename(final)
    finally:
        for temporary, _ in prepared:
            temporary.unlink(missing_ok=True)
    return tuple(holds)


def _sweep(folder: Path) -> None:
    """Whoever left a temporary file here was killed: the folder's lock is ours now."""
    for path in folder.glob(f"*{TEMPORARY}"):
        with contextlib.suppress(PermissionError):
            path.unlink()


def _must_be_ours(name: str) -> None:
    """In a folder like /tmp only a file's owner, the folder's owner and root may replace a file."""
    for place in folders():
        with contextlib.suppress(FileNotFoundError):
            owner = (place / name).stat().st_uid
            if os.geteuid() not in {0, owner, place.stat().st_uid}:
                raise PdlaunchError(
                    f"{name} is free, but the note of its last holder belongs to uid {owner}: {place / name}",
                    hint=f"sudo rm {place / name}",
                )


def _taken(layout: Layout, holds: list[Hold]) -> BusyError:
    by_holder: dict[tuple[str, str], list[Hold]] = {}
    for hold in holds:
        by_holder.setdefault((hold.deployment, hold.state), []).append(hold)
    parts = []
    for (deployment, _), theirs in by_holder.items():
        first = theirs[0]
        reason = f": {first.why}" if first.why else ""
        names = ", ".join(hold.resource for hold in theirs)
        parts.append(f"{names} held by {deployment} ({first.by}, since {moment(first.since)}{reason})")
    downs = ", ".join(f"`{_down(layout, *holder)}`" for holder in by_holder)
    return BusyError("busy: " + "; ".join(parts), hint=f"free them with {downs}, or switch: pdlaunch up --replace")


def _down(layout: Layout, deployment: str, state: str) -> str:
    elsewhere = Path(state).parent
    prefix = "" if elsewhere == layout.state.parent else f"PDLAUNCH_STATE_DIR={elsewhere} "
    return f"{prefix}pdlaunch down -d {deployment}"
