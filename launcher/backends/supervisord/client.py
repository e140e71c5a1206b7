"""supervisord's XML-RPC interface over its UNIX socket: https://supervisord.org/api.html."""

from __future__ import annotations

import http.client
import socket
import xmlrpc.client
from pathlib import Path
from typing import Any

from launcher.errors import PdlaunchError

# Fault codes that only say how things already are: supervisor/xmlrpc.py, class Faults.
SHUTDOWN_STATE = 6
BAD_NAME = 10
SPAWN_ERROR = 50
ALREADY_STARTED = 60
NOT_RUNNING = 70
ALREADY_ADDED = 90
STILL_RUNNING = 91

_TIMEOUT = 5.0
"""Seconds. Every call made here answers at once: none waits for a service to start or stop."""


class NotRunningError(PdlaunchError):
    """No daemon listens on the socket."""


class EndingError(PdlaunchError):
    """The daemon was told to end and still stops its services."""


class Client:
    """Calls one daemon; a connection per call, since a daemon that was replaced leaves no stale one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, method: str, *params: Any, but: tuple[int, ...] = ()) -> Any:
        """The answer to ``supervisor.METHOD``, or None for a fault whose code is in `but`.

        Raises NotRunningError without a daemon, EndingError for one that was told to end, PdlaunchError for any other
        fault and for one that does not answer.
        """
        body = xmlrpc.client.dumps(params, f"supervisor.{method}").encode()
        try:
            (answer,), _ = xmlrpc.client.loads(self._post(body))
        except xmlrpc.client.Fault as fault:
            if fault.faultCode in but:
                return None
            if fault.faultCode == SHUTDOWN_STATE:
                raise EndingError("supervisord was told to end", hint="wait until it is gone, then repeat") from None
            raise PdlaunchError(f"supervisord refused {method}: {fault.faultString}") from None
        return answer

    def _post(self, body: bytes) -> bytes:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(_TIMEOUT)
        try:
            connection.sock.connect(str(self.path))
            connection.request("POST", "/RPC2", body, {"Content-Type": "text/xml"})
            return connection.getresponse().read()
        except (FileNotFoundError, ConnectionError):
            raise NotRunningError(f"supervisord does not run: nobody listens on {self.path}") from None
        except TimeoutError:
            raise PdlaunchError(
                f"supervisord does not answer on {self.path}",
                hint=f"its pid is in {self.path.with_suffix('.pid')}: end it with SIGKILL, then repeat",
            ) from None
        except PermissionError:
            raise PdlaunchError(
                f"supervisord's socket belongs to another user: {self.path}",
                hint="run pdlaunch as that user, or as root",
            ) from None
        finally:
            connection.close()
