"""Serves what the watcher knows to Prometheus, on the loopback port that the plan gives it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from launcher.errors import PdlaunchError
from launcher.operations.evidence import evidence, good
from launcher.operations.freezing import FOLDER
from launcher.operations.proven_before import probed
from launcher.operations.targets import targets_file, write_targets
from launcher.operations.watching import Say
from launcher.store import Event, Store
from launcher.store.journal import now
from launcher.store.names import names_in
from launcher.store.served import served
from launcher.watch import Look, Process, Verdict
from launcher.watch.exposition import CONTENT_TYPE, Known, page

HOST = "127.0.0.1"
_AGAIN = 60.0
"""Seconds until a port that was taken is tried again."""


class Exporter:
    """Gets each look with its verdict, and tells the last one to whoever asks.

    `drift` says how many differences were found between what runs and what was recorded; None while nobody looked.
    """

    def __init__(self, store: Store, say: Say, drift: Callable[[], int | None] = lambda: None) -> None:
        self._store, self._say, self._drift = store, say, drift
        self._last: tuple[Look, Verdict] | None = None
        self._look_seconds = 0.0
        self._mains: dict[str, Process] = {}
        self._restarts: dict[str, int] = {}
        self._generation, self._port, self._context, self._digest = -1, 0, 0, ""
        self._server: ThreadingHTTPServer | None = None
        self._next = 0.0
        self._told = -1
        self._journal: tuple[int, Sequence[Event]] = (0, ())

    def __call__(self, look: Look, verdict: Verdict) -> None:
        """Keep one more look; a port that is taken is told once and tried again."""
        self._look_seconds = time.monotonic() - look.at
        self._count(look)
        if look.generation != self._generation:
            self._settle(look.generation)
        self._last = (look, verdict)
        if any(server.body for server in look.servers.values()) and not look.stopped:
            self._tell_targets()
        if self._port and self._server is None and time.monotonic() >= self._next:
            self._open()

    def close(self) -> None:
        """Stop serving."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _settle(self, number: int) -> None:
        generation = self._store.generation(number)
        plan = generation.plan
        port = plan.watch.metrics_port or 0
        if port != self._port:
            self.close()
            self._next = 0.0
        self._generation, self._port = number, port
        self._context, self._digest = plan.context or 0, generation.seal.digest[:12]

    def _tell_targets(self) -> None:
        """Write what there is to scrape, where it is not there or of another generation."""
        if self._told == self._generation and os.path.exists(targets_file(self._store.layout)):  # noqa: PTH110
            return
        try:
            write_targets(self._store.layout, self._store.generation(self._generation).plan)
        except PdlaunchError as error:
            if self._told != self._generation:
                self._say(str(error))
        self._told = self._generation

    def _open(self) -> None:
        told = self._next > 0.0
        self._next = time.monotonic() + _AGAIN
        try:
            self._server = _Server((HOST, self._port), _handler(self.text))
        except OSError as error:
            if not told:
                self._say(f"metrics are not served: port {self._port}: {error.strerror}")
            return
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._say(f"metrics at http://{HOST}:{self._port}/metrics")

    def _count(self, look: Look) -> None:
        """Count who came back; who was stopped and started by an operation did not."""
        bodies = {name: server.body for name, server in look.servers.items()}
        bodies |= {"router": look.router.body} if look.router else {}
        for name, body in bodies.items():
            if body is None:
                continue
            if not look.changing and name in self._mains and self._mains[name] != body.main:
                self._restarts[name] = self._restarts.get(name, 0) + 1
            self._mains[name] = body.main

    def text(self) -> str:
        """The page; what others write is read anew."""
        look, verdict = self._last or (None, None)
        return page(look, verdict, self._known(), time.time())

    def _known(self) -> Known:
        watched, number = served(self._store.layout), self._generation
        events = self._events()
        best = good(evidence(events, watched, now()).values(), self._store.numbers())
        return Known(
            deployment=self._store.layout.deployment,
            digest=self._digest,
            names=tuple(name for name, named in names_in(events).items() if named == number),
            good=best.generation if best else None,
            probe=probed(events).get(number, 0),
            context=self._context or None,
            served=watched.get(number),
            drift=self._drift(),
            evidence=self._frozen(),
            restarts=dict(self._restarts),
            look_seconds=self._look_seconds,
            process=_own(),
        )

    def _events(self) -> Sequence[Event]:
        """Of the journal, which is read only where it has grown."""
        path = self._store.journal.path
        size = path.stat().st_size if path.exists() else 0
        if size != self._journal[0]:
            self._journal = (size, self._store.journal.events())
        return self._journal[1]

    def _frozen(self) -> int:
        try:
            return len(os.listdir(self._store.layout.state / FOLDER))  # noqa: PTH208  only how many
        except OSError:
            return 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def server_bind(self) -> None:
        """Bind, and ask no name server what this address is called, as HTTPServer does: it may not answer."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]


def _handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10.0
        """Seconds: who asks and then says nothing holds a thread no longer."""

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                return self.send_error(404, "there is only /metrics")
            try:
                body = text().encode()
            except (PdlaunchError, OSError) as error:
                return self.send_error(500, "cannot read what was served", str(error))
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return None

        def log_message(self, *_said: object) -> None:
            """A scrape every few seconds is no news."""

    return Handler


def _own() -> Mapping[str, float]:
    """What Prometheus' client libraries tell of their process: see proc_pid_stat(5)."""
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123  once in each scrape
        fields = file.read().rpartition(b")")[2].split()
    tick, used = os.sysconf("SC_CLK_TCK"), os.times()
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / tick
    return {
        "process_cpu_seconds_total": used.user + used.system,
        "process_resident_memory_bytes": float(int(fields[21]) * os.sysconf("SC_PAGE_SIZE")),
        "process_start_time_seconds": time.time() - since_boot,
    }
