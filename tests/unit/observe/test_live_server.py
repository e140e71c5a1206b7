"""What a server says of itself, less what it should not say."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from launcher.observe.http import Endpoint
from launcher.observe.live_server import ServerInfo, server_info, understand

BODY = {
    "page_size": 256,
    "api_key": "hunter2",
    "launch_command": "python --api-key hunter2",
    "tokenizer": "with token abcdef inside",
    "internal_states": [{"env_vars": {"SGLANG_A": "1", "SGLANG_B": "abcdef"}}, {"env_vars": {"SGLANG_C": "3"}}],
}


@contextmanager
def serving(text: str) -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/server_info" else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Endpoint("127.0.0.1", server.server_port)
        server.shutdown()
        thread.join()


def test_keys_and_secrets_are_dropped_before_anything_looks() -> None:
    with serving(json.dumps(BODY)) as endpoint:
        found = server_info(endpoint, ["abcdef"])
    assert found is not None
    assert found.arguments["page_size"] == 256
    assert found.environ.keys() == {"SGLANG_A", "SGLANG_B", "SGLANG_C"}
    assert "hunter2" not in repr(found)
    assert "abcdef" not in repr(found)


def test_no_answer_is_none(free_port: Callable[[], int]) -> None:
    assert server_info(Endpoint("127.0.0.1", free_port())) is None
    for text in ("no JSON", "[1]"):
        with serving(text) as endpoint:
            assert server_info(endpoint) is None


def test_an_answer_in_another_form_has_no_variables() -> None:
    assert understand({"internal_states": {"x": 1}, "a": 1}) == ServerInfo({"a": 1}, {})
    assert understand({"internal_states": ["x", {"env_vars": None}]}) == ServerInfo({}, {})
