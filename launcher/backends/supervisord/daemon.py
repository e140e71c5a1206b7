"""The daemon of one deployment: starting it, knowing it, ending it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

from launcher.backends.processes import SUPERVISOR, Proc, look
from launcher.backends.supervisord.client import SHUTDOWN_STATE, Client, EndingError, NotRunningError
from launcher.errors import PdlaunchError
from launcher.plan.model import MARK
from launcher.render import Layout
from launcher.render.supervisord import pidfile, socket

NAME = SUPERVISOR
"""What the daemon's own mark names instead of a service."""
_STARTED = 20.0
_ENDED = 10.0
"""Seconds."""


def config(layout: Layout) -> Path:
    """The file that the daemon reads."""
    return layout.state / "supervisord.conf"


def pid(client: Client) -> int | None:
    """The pid of the deployment's daemon, or None where none runs; raises EndingError where it was told to end."""
    try:
        return int(client("getPID"))
    except NotRunningError:
        return None


def find(layout: Layout, client: Client) -> int | None:
    """The same, of one that was told to end too."""
    try:
        return pid(client)
    except EndingError:  # it answers nothing else any more
        with contextlib.suppress(FileNotFoundError, ValueError):  # and removes this file last
            return int(pidfile(layout).read_text())
        return None


def start(layout: Layout, client: Client) -> int:
    """Start the daemon and return its pid once it answers; it outlives this process and its terminal.

    Raises PdlaunchError with the daemon's own words where it does not start.
    """
    socket(layout).unlink(missing_ok=True)  # of one that was killed: supervisord would wait before it takes it over
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        MARK: str(layout.state / NAME),
    }
    # It binds its socket before it leaves its parent: exit 0 means that it answers. -P: cwd is no place for modules.
    command = [sys.executable, "-P", "-m", "supervisor.supervisord", "-c", str(config(layout))]
    with subprocess.Popen(
        command,
        env=environment,
        cwd="/",
        umask=0o022,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        _lift_memlock(process.pid)
        try:
            said, _ = process.communicate(timeout=_STARTED)
        except subprocess.TimeoutExpired:
            process.kill()
            raise PdlaunchError(f"supervisord did not start within {_STARTED:g} s", hint=_hint(layout)) from None
    if process.returncode or (found := pid(client)) is None:
        lines = said.strip().splitlines() or ["it said nothing"]
        words = next((line for line in lines if line.startswith("Error")), lines[-1])
        raise PdlaunchError(f"supervisord did not start: {words}", hint=_hint(layout))
    return found


def end(layout: Layout, client: Client) -> None:
    """End the daemon and return when it is gone, its socket and pid file with it."""
    found, table = find(layout, client), look(layout.state)
    # Marked: the daemon and its listener; one that a person started by hand has no mark, but it answers.
    procs = {*table.services.get(NAME, ()), *(p for p in table.values() if p.pid == found)}
    with contextlib.suppress(NotRunningError):
        client("shutdown", but=(SHUTDOWN_STATE,))
    for proc in _left(procs, client):
        proc.signal(signal.SIGKILL)
    if left := _left(procs, client):
        raise PdlaunchError(f"cannot be killed: {', '.join(map(str, left))}")
    socket(layout).unlink(missing_ok=True)
    pidfile(layout).unlink(missing_ok=True)


def user() -> str | None:
    """The user to name in the configuration: supervisord asks root to say that it means it."""
    return "root" if os.geteuid() == 0 else None


def _lift_memlock(process: int) -> None:
    # What RDMA and UCX register is locked memory, and a login shell allows 8 MiB of it: no limit as in a systemd unit
    # with LimitMEMLOCK=infinity, or else as much as this user may have.
    with contextlib.suppress(OSError):  # not root, or it ended at once
        _, hard = resource.prlimit(process, resource.RLIMIT_MEMLOCK)
        resource.prlimit(process, resource.RLIMIT_MEMLOCK, (hard, hard))
        resource.prlimit(process, resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _left(procs: Collection[Proc], client: Client) -> list[Proc]:
    """Those that still live when all are gone or the time is up."""
    deadline = time.monotonic() + _ENDED
    while (left := [proc for proc in procs if proc.alive()]) and time.monotonic() < deadline:
        time.sleep(0.02)
        with contextlib.suppress(NotRunningError):
            # Any call wakes it: it sleeps for a second where its listener ends just after it has looked.
            client("getState", but=(SHUTDOWN_STATE,))
    return left


def _hint(layout: Layout) -> str:
    return f"its log: {layout.log(NAME)}; by hand: supervisord -n -c {config(layout)}"
