"""Finding a deployment's processes by the mark in their environment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest

from launcher.backends.processes import Proc, Table, look, marked
from launcher.plan.model import MARK

T = TypeVar("T")
Spawn: TypeAlias = Callable[..., subprocess.Popen[bytes]]
SLEEP = shutil.which("sleep") or "/bin/sleep"


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """Starts marked processes; none outlives the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(service: str, *command: str, apart: bool = False) -> subprocess.Popen[bytes]:
        environment = {MARK: str(tmp_path / service), "PATH": os.environ["PATH"]}
        started.append(subprocess.Popen(command or (SLEEP, "60"), env=environment, start_new_session=apart))
        return started[-1]

    yield start
    for proc in (p for procs in marked(tmp_path).values() for p in procs):
        proc.signal(signal.SIGKILL)
    for popen in started:
        popen.wait()


def test_each_service_has_its_processes_oldest_first(tmp_path: Path, spawn: Spawn) -> None:
    # The shell waits for its child, so that there are two.
    shell = spawn("decode-0", "/bin/sh", "-c", f"{SLEEP} 60; true", apart=True)
    spawn("prefill-0")
    eventually(lambda: [len(procs) for procs in marked(tmp_path).values()] in ([1, 2], [2, 1]))
    found = marked(tmp_path)
    assert found.keys() == {"decode-0", "prefill-0"}
    main, child = found["decode-0"]
    assert (main.pid, main.ppid, main.pgid) == (shell.pid, os.getpid(), shell.pid)
    assert main.cmdline == ("/bin/sh", "-c", f"{SLEEP} 60; true")
    assert (child.ppid, child.pgid, child.cmdline) == (main.pid, main.pid, (SLEEP, "60"))
    assert str(child) == f"pid {child.pid} ({SLEEP} 60)"
    assert abs(main.created - time.time()) < 60
    assert main.created <= child.created


def test_a_folder_whose_name_begins_the_same_is_another_deployment(tmp_path: Path, spawn: Spawn) -> None:
    spawn("d2/decode-0")
    spawn("d/decode-0")
    eventually(lambda: marked(tmp_path / "d2"))
    assert marked(tmp_path / "d").keys() == {"decode-0"}
    assert marked(tmp_path / "d2").keys() == {"decode-0"}


def test_a_zombie_is_gone(tmp_path: Path, spawn: Spawn) -> None:
    popen = spawn("decode-0")
    proc = eventually(lambda: marked(tmp_path).get("decode-0", ()))[0]
    assert proc.alive()
    os.kill(popen.pid, signal.SIGKILL)
    os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{popen.pid}/stat").exists(), "it has not been waited for"
    assert not proc.alive()
    assert marked(tmp_path) == {}


def test_a_process_whose_first_thread_has_ended_still_lives(tmp_path: Path, spawn: Spawn) -> None:
    code = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); "
    popen = spawn("decode-0", sys.executable, "-c", f"{code} ctypes.CDLL(None).pthread_exit(None)")
    proc = eventually(lambda: marked(tmp_path).get("decode-0", ()))[0]
    eventually(lambda: b") Z " in Path(f"/proc/{popen.pid}/stat").read_bytes())
    assert proc.alive()
    assert look(tmp_path).holds(proc)
    proc.signal(signal.SIGKILL)
    popen.wait()
    assert not proc.alive()


def test_a_name_with_brackets_and_spaces(tmp_path: Path, spawn: Spawn) -> None:
    odd = tmp_path / "a) S 1 (b"
    shutil.copy(SLEEP, odd)
    popen = spawn("decode-0", str(odd), "60")
    proc = eventually(lambda: marked(tmp_path).get("decode-0", ()))[0]
    assert (proc.pid, proc.ppid) == (popen.pid, os.getpid())


def test_a_pid_that_was_given_to_another_process_is_left_alone(spawn: Spawn) -> None:
    popen = spawn("decode-0")
    former = Proc(popen.pid, 1, 1, popen.pid, "decode-0", ("former",))
    assert not former.alive()
    former.signal(signal.SIGKILL)
    assert popen.poll() is None
    assert not Table([proc(popen.pid)]).holds(former)


def proc(pid: int, ppid: int = 1, started: int = 100, service: str | None = "s") -> Proc:
    return Proc(pid, started, ppid, pid, service, (f"p{pid}",))


def test_a_tree_has_all_descendants_and_parents_come_first() -> None:
    table = Table([proc(5, 3), proc(3, 2, service=None), proc(2), proc(4, 2), proc(9)])
    assert [p.pid for p in table.tree([proc(2)])] == [2, 3, 4, 5]
    assert table.tree([proc(2, started=99)]) == (), "another process that had this pid"
    assert table.tree([proc(7)]) == ()
    assert [p.pid for p in table.tree([proc(3), proc(2)])] == [3, 2, 5, 4]


def test_below() -> None:
    table = Table([proc(2), proc(3, 2), proc(4, 3), proc(6, 7), proc(7, 6)])
    assert table.below(table[4], 2)
    assert table.below(table[4], 4)
    assert not table.below(table[2], 4)
    assert not table.below(table[6], 2), "a circle ends, though there should be none"


def test_the_machine_is_looked_at_as_a_whole(tmp_path: Path) -> None:
    table = look(tmp_path)
    assert os.getpid() in table
    assert table[os.getpid()].ppid == os.getppid()
    assert table.services == {}


def eventually(attempt: Callable[[], T]) -> T:
    end = time.monotonic() + 20
    while not (found := attempt()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return found
