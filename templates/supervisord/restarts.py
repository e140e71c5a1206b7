"""Starts a service again that ended by itself, a bounded number of times: an event listener of supervisord.

supervisord cannot do this alone: its `startretries` counts only what dies within `startsecs`, and it takes exit 0 for
success. Standard library only; runs without pdlaunch.

A service is wanted while ``STATE/supervisord/SERVICE.runs`` exists: pdlaunch writes that file before it asks for a
start and removes it before it asks for a stop. Each line is a time and a word: ``asked``, ``running PID``, ``again``,
``left``. Protocol of events: https://supervisord.org/events.html
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import socket
import sys
import time
import xmlrpc.client
from pathlib import Path
from typing import Any

PAUSE = 1.0
"""Seconds between an end and the next start, so that ports and memory are free and three tries are not one."""
GONE = 10.0
"""Seconds that killed remains may take to vanish."""
ENDED = {"EXITED", "FATAL"}


class UnixTransport(xmlrpc.client.Transport):
    """XML-RPC over supervisord's UNIX socket."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def make_connection(self, host: Any) -> http.client.HTTPConnection:  # noqa: ARG002  one socket, whatever the host
        """A connection to the socket instead of to `host`."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.path)
        return connection


class Services:
    """The services of one deployment, as supervisord and their run files tell."""

    def __init__(self, state: Path, tries: int, within: float, rpc: Any) -> None:
        self.state, self.tries, self.within, self.rpc = state, tries, within, rpc

    def resume(self) -> None:
        """Start what was asked to run before this supervisord was started."""
        for info in self.infos():
            name = info["name"]
            if info["statename"] != "STOPPED" or info["start"] or not self.runs(name).exists():
                continue
            if outside := self.processes(name):
                say(f"{name} already runs, but outside supervisord, as pid {outside[0]}: not started")
            else:
                self.start(name, "supervisord was started again: started")

    def look_after(self) -> None:
        """Start again every wanted service that ended, unless it has used up its tries."""
        ended = [info for info in self.infos() if info["statename"] in ENDED]
        again = [info for info in ended if self.may_start(info)]
        for info in again:
            self.clear(info["name"])
        if again:
            time.sleep(PAUSE)
        for info in again:
            if self.note(info["name"], "again"):
                self.start(info["name"], f"{end_of(info)}; started again")

    def may_start(self, info: Any) -> bool:
        """Whether `info`'s service is wanted and has a try left; the first time it has none, that is noted."""
        try:
            lines = self.runs(info["name"]).read_text().splitlines()
        except FileNotFoundError:
            return False
        if any(line.endswith(" left") for line in lines):
            return False
        since = time.time() - self.within
        used = sum(float(line.split()[0]) > since for line in lines if line.endswith(" again"))
        if used < self.tries:
            return True
        self.note(info["name"], "left")
        say(f"{info['name']} {end_of(info)}; started again {used} times in {self.within:g} s: left as it is")
        return False

    def start(self, name: str, why: str) -> None:
        """Start `name`; pdlaunch may have stopped or removed it meanwhile, which is no error."""
        try:
            self.rpc.startProcess(name, False)
        except xmlrpc.client.Fault as fault:
            say(f"{name} {why}: {fault.faultString}")
        else:
            say(f"{name} {why}")

    def infos(self) -> list[Any]:
        """What supervisord says of each program; nothing where it is about to end."""
        try:
            return list(self.rpc.getAllProcessInfo())
        except xmlrpc.client.Fault:
            return []

    def clear(self, name: str) -> None:
        """Kill what is left of a service whose main process ended: it would hold ports and memory."""
        end = time.monotonic() + GONE
        if remains := self.processes(name):
            say(f"{name} ended and left {len(remains)} processes: killed")
        while remains and time.monotonic() < end:
            for pid in remains:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.1)
            remains = self.processes(name)

    def note(self, name: str, word: str) -> bool:
        """Append a line to the run file; False where the service is wanted no longer, or cannot be counted."""
        try:
            file = os.open(self.runs(name), os.O_WRONLY | os.O_APPEND)
            with open(file, "w") as run:  # noqa: PTH123  a descriptor: a name would create the file again
                run.write(f"{time.time():.3f} {word}\n")
        except FileNotFoundError:
            return False
        except OSError as error:
            say(f"{name} is left as it is, {word} cannot be recorded: {error}")
            return False
        return True

    def runs(self, name: str) -> Path:
        """The run file of `name`."""
        return self.state / "supervisord" / f"{name}.runs"

    def processes(self, name: str) -> list[int]:
        """The living processes that carry this service's mark in their environment."""
        mark = os.fsencode(f"\0PDLAUNCH_SERVICE={self.state / name}\0")
        found = []
        for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdigit()):  # noqa: PTH208  faster by far
            try:
                marked = mark in b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
            except OSError:
                continue
            if marked:
                found.append(pid)
        return found


def end_of(info: Any) -> str:
    """How a service ended, in words."""
    if info["statename"] == "FATAL":
        return f"could not be started ({info['spawnerr']})"
    return "was ended by a signal" if info["exitstatus"] < 0 else f"exited with status {info['exitstatus']}"


def say(text: str) -> None:
    """One line in the log."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
    sys.stderr.flush()


def main() -> None:
    """Serve events until supervisord closes the pipe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--tries", type=int, required=True)
    parser.add_argument("--within", type=float, required=True)
    given = parser.parse_args()
    path = os.environ["SUPERVISOR_SERVER_URL"].removeprefix("unix://")
    proxy = xmlrpc.client.ServerProxy("http://localhost", transport=UnixTransport(path))
    services = Services(given.state, given.tries, given.within, proxy.supervisor)
    services.resume()
    services.look_after()
    while True:
        sys.stdout.write("READY\n")
        sys.stdout.flush()
        header = dict(field.split(":", 1) for field in sys.stdin.readline().split())
        if not header:
            return
        event = dict(field.split(":", 1) for field in sys.stdin.read(int(header["len"])).split())
        if header["eventname"] == "PROCESS_STATE_RUNNING":
            services.note(event["processname"], f"running {event['pid']}")
        else:
            services.look_after()
        sys.stdout.write("RESULT 2\nOK")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
