"""A server of a few lines that answers as a test wants it to."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .scripts import PROMPT

Answer = Callable[[str, str | None], tuple[int, str]]
"""Path and Authorization to status and text."""

TOKENS = json.dumps({"meta_info": {"prompt_tokens": PROMPT, "completion_tokens": 4}})


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[int]:
    """Serve until the block ends; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._say()

        def _say(self) -> None:
            status, text = answer(self.path, self.headers["Authorization"])
            with contextlib.suppress(OSError):  # who asked has given up
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
