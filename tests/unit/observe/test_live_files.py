"""Libraries that were replaced while they are loaded, and the sockets that are really held."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from launcher.backends.processes import Proc
from launcher.observe.live import LiveProcess
from launcher.observe.live_files import listening, replaced

LOAD = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
print("loaded", flush=True)
sys.stdin.read()
"""


def of(pid: int) -> LiveProcess:
    return LiveProcess(Proc(pid, 1, 1, pid, "decode-0", ("x",)), {}, None)


def a_library() -> Path:
    """Some library that this very process has loaded."""
    paths = [line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line]
    return Path(next(path for path in paths if "libz" in path or "libc.so" in path or "libm" in path))


def test_a_library_that_was_replaced_after_it_was_loaded(tmp_path: Path) -> None:
    library = Path(shutil.copy(a_library(), tmp_path / "libkernel.so.1"))
    with subprocess.Popen(
        [sys.executable, "-c", LOAD, str(library)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"loaded\n"
        assert replaced(of(process.pid)) == ()
        library.unlink()
        assert replaced(of(process.pid)) == (str(library),)
        process.stdin.close()


def test_a_process_that_is_gone_has_none() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert (replaced(of(process.pid)), listening([of(process.pid)])) == ((), ())


def test_the_ports_that_a_process_listens_on() -> None:
    with socket.socket() as first, socket.socket() as second:
        for opened in (first, second):
            opened.bind(("127.0.0.1", 0))
        first.listen()
        port = first.getsockname()[1]
        assert port in listening([of(os.getpid())])
        assert second.getsockname()[1] not in listening([of(os.getpid())]), "bound, and nobody listens"
