"""Who is the main process, whose child, a twin: from one look at the processes; and what /proc tells of one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.backends.processes import Proc, Table
from launcher.backends.supervisord.daemon import NAME
from launcher.observe.live import GONE, SUPERVISOR, LiveProcess, live, read
from launcher.plan import MARK

DAEMON = Proc(100, 1, 1, 100, "supervisord", ("supervisord",))


def proc(
    pid: int,
    ppid: int,
    *,
    group: int = 10,
    started: int | None = None,
    service: str | None = "decode-0",
    words: str = "main",
) -> Proc:
    return Proc(pid, pid if started is None else started, ppid, group, service, (words,))


def seen(*procs: Proc) -> tuple[int, list[int], bool, list[int]]:
    """Main process, children, supervised, twins of the service that `procs` are of."""
    found = read(Table(procs))["decode-0"]
    children = [child.proc.pid for child in found.children]
    return found.main.proc.pid, children, found.supervised, [twin.pid for twin in found.twins]


def test_the_supervised_process_is_the_main_one_and_what_is_below_it_its_children() -> None:
    child, grandchild = proc(11, 10, words="sglang::scheduler"), proc(12, 11, words="sglang::scheduler")
    assert seen(DAEMON, proc(10, 100), child, grandchild) == (10, [11, 12], True, [])


def test_the_daemon_is_no_service() -> None:
    assert NAME == SUPERVISOR
    assert read(Table([DAEMON])) == {}


def test_a_child_that_wrote_over_its_mark_is_found_below_its_parent() -> None:
    blank = proc(11, 10, service=None, words="[sglang::schedul]")
    assert seen(DAEMON, proc(10, 100), blank) == (10, [11], True, [])


def test_without_a_supervisor_the_oldest_is_the_main_one() -> None:
    assert seen(proc(10, 1), proc(11, 10)) == (10, [11], False, [])


@pytest.mark.parametrize(
    "twin",
    [proc(20, 1), proc(20, 1, started=5, words="edited"), proc(20, 1, group=20, words="another port")],
    ids=["the same command", "older than the supervised one", "from another shell"],
)
def test_a_twin_beside_the_supervised_one(twin: Proc) -> None:
    below = proc(21, 20, started=30, words="sglang::scheduler")
    assert seen(DAEMON, proc(10, 100), proc(11, 10), twin, below) == (10, [11], True, [20])


def test_two_that_nobody_supervises_are_a_main_one_and_its_twin() -> None:
    assert seen(proc(10, 1), proc(20, 1, group=20)) == (10, [], False, [20])


def test_a_child_that_lost_its_parent_is_no_twin() -> None:
    left = proc(12, 1, words="sglang::scheduler")
    assert seen(DAEMON, proc(10, 100), left) == (10, [12], True, [])


def test_one_that_others_started_and_that_was_adopted_is_no_stranger() -> None:
    main, child = proc(10, 1), proc(11, 10, group=11)
    found = read(Table([main, child, proc(12, 1, group=12)]), {(10, 10)})["decode-0"]
    assert (found.adopted, found.twins, [c.proc.pid for c in found.children]) == (True, (), [11, 12])
    assert not read(Table([main, child]), {(10, 11)})["decode-0"].adopted, "another process with its pid"


def test_only_a_bare_word_is_a_new_name() -> None:
    def named(*words: str) -> str | None:
        return LiveProcess(Proc(1, 1, 1, 1, "s", words), {}, None).renamed

    assert named("sglang::router   ") == "sglang::router"
    assert named("/usr/bin/true") is None
    assert named("python", "-m") is None


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own copy of `sleep`, with the mark of a service below `tmp_path`."""
    program = Path(shutil.copy(shutil.which("sleep") or "", tmp_path / "program"))
    environ = {MARK: f"{tmp_path}/decode-0", "NAME": "two\nlines = é", "EMPTY": ""}
    with subprocess.Popen([str(program), "60"], env=environ) as process:
        deadline = time.monotonic() + 10
        while not live(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.01)
        yield process
        process.kill()


def test_a_process_is_read_as_it_was_started(tmp_path: Path, started: subprocess.Popen[bytes]) -> None:
    found = live(tmp_path)["decode-0"]
    program = str(tmp_path / "program")
    assert (found.main.proc.pid, found.main.proc.cmdline) == (started.pid, (program, "60"))
    assert found.main.environ == {MARK: f"{tmp_path}/decode-0", "NAME": "two\nlines = é", "EMPTY": ""}
    assert found.main.executable == os.path.realpath(program)
    assert (found.children, found.supervised, found.twins) == ((), False, ())
    assert abs(found.main.proc.created - time.time()) < 60


def test_an_executable_that_was_replaced_says_so(tmp_path: Path, started: subprocess.Popen[bytes]) -> None:
    program = tmp_path / "program"
    other = tmp_path / "other"
    shutil.copy(sys.executable, other)
    other.replace(program)
    assert live(tmp_path)["decode-0"].main.executable == f"{program}{GONE}"


def test_another_deployment_s_processes_are_not_ours(tmp_path: Path, started: subprocess.Popen[bytes]) -> None:
    assert live(tmp_path / "other") == {}
