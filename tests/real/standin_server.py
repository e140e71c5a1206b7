"""A stand-in for a server: it opens a port, may have children, and ends as it is told. It is no engine."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int)
    parser.add_argument("--exit-after", type=float, help="seconds until it ends by itself")
    parser.add_argument("--status", type=int, default=1, help="exit status of that end")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--slow-term", type=float, default=0, help="seconds that it drains after TERM")
    parser.add_argument("--lines", type=int, default=0, help="lines of 315 bytes that it prints")
    parser.add_argument("--child", choices=["plain", "session", "stopped", "ignore-term", "hold-port", "orphan"])
    given = parser.parse_args()
    say(f"stand-in server {os.environ.get('PDLAUNCH_SERVICE')} {sys.argv[1:]}")

    def term(*_: object) -> None:
        if not given.ignore_term:
            say(f"stand-in drains from {time.monotonic()}")
            time.sleep(given.slow_term)
            say(f"stand-in drains to {time.monotonic()}")
            sys.exit(0)

    signal.signal(signal.SIGTERM, term)
    listener = socket.create_server(("127.0.0.1", given.port)) if given.port else None
    if given.child:
        have_child(given.child, listener)
    for number in range(given.lines):
        sys.stdout.write(f"stand-in line {number:<300}\n")
    say("stand-in is ready")
    time.sleep(given.exit_after if given.exit_after is not None else 3600)
    say("stand-in ends by itself")
    sys.exit(given.status)


def have_child(kind: str, listener: socket.socket | None) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    if kind == "orphan":
        # Twice forked: its parent is gone before anybody looks.
        code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True)"
        subprocess.run([sys.executable, "-c", code], check=True)
        return
    fds = (listener.fileno(),) if kind == "hold-port" and listener else ()
    if kind == "plain":
        code = "import time; time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=kind == "session", pass_fds=fds)
    if kind == "stopped":
        child.send_signal(signal.SIGSTOP)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
