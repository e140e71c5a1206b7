"""The daemon of one deployment: starting it, knowing it, ending it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from launcher.backends.processes import Proc, look
from launcher.backends.supervisord.client import SHUTDOWN_STATE, Client, EndingError, NotRunningError
from launcher.errors import PdlaunchError
from launcher.plan.model import MARK
from launcher.render import Layout
from launcher.render.supervisord import pidfile, socket

NAME = "supervisord"
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
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        MARK: str(layout.state / NAME),
    }
    # It binds its socket before it leaves its parent: exit 0 means that it answers. -P: cwd is no place for modules.
    command = [sys.executable, "-P", "-m", "supervisor.supervisord", "-c", str(config(layout))]
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd="/",
            umask=0o022,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_STARTED,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PdlaunchError(f"supervisord did not start within {_STARTED:g} s", hint=_hint(layout)) from None
    if done.returncode or (found := pid(client)) is None:
        words = done.stdout.strip().splitlines() or ["it said nothing"]
        raise PdlaunchError(f"supervisord did not start: {words[0]}", hint=_hint(layout))
    return found


def end(layout: Layout, client: Client) -> None:
    """End the daemon and return when it is gone, its socket and pid file with it."""
    found = find(layout, client)
    if found is not None and (proc := look(layout.state).get(found)) is not None:
        client("shutdown", but=(SHUTDOWN_STATE,))
        if not _gone(proc):
            proc.signal(signal.SIGKILL)
            if not _gone(proc):
                raise PdlaunchError(f"cannot be killed: {proc}")
    socket(layout).unlink(missing_ok=True)
    pidfile(layout).unlink(missing_ok=True)


def user() -> str | None:
    """The user to name in the configuration: supervisord asks root to say that it means it."""
    return "root" if os.geteuid() == 0 else None


def _gone(proc: Proc) -> bool:
    deadline = time.monotonic() + _ENDED
    while proc.alive():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _hint(layout: Layout) -> str:
    return f"its log: {layout.log(NAME)}; by hand: supervisord -n -c {config(layout)}"
