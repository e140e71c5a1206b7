"""Who stands behind a pid, what it may use, and where it may write."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from pathlib import Path

from launcher.observe.folders import folder
from launcher.observe.holders import holders
from launcher.observe.limits import limits, shared_memory
from launcher.plan import MARK


def test_who_holds_something() -> None:
    mine = holders([os.getpid()])[os.getpid()]
    assert (mine.user, mine.deployment, mine.service) == (getpass.getuser(), None, None)
    assert mine.since.timestamp() > 0


def test_one_that_has_ended_is_left_out() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert holders([done.pid]) == {}


def test_one_of_a_deployment_is_known_by_its_mark() -> None:
    env = {**os.environ, MARK: "/var/lib/pdlaunch/old/decode-0"}
    command = [sys.executable, "-c", "print(1, flush=True); input()"]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        assert held.stdout
        held.stdout.readline()
        found = holders([held.pid])[held.pid]
        held.communicate(b"\n")
    assert (found.deployment, found.service) == ("old", "decode-0")


def test_a_folder_that_is_not_there_yet_is_where_it_would_be(tmp_path: Path) -> None:
    found = folder(tmp_path / "a/b/c")
    assert found
    assert found.path == str(tmp_path / "a/b/c")
    assert found.free > 0
    assert (found.readonly, found.noexec) == (False, False)


def test_what_the_kernel_mounts_without_programs() -> None:
    found = folder(Path("/proc"))
    assert found
    assert found.noexec == (bool(os.statvfs("/proc").f_flag & os.ST_NOEXEC))


def test_limits_of_this_and_of_another_process() -> None:
    mine, same = limits(), limits(os.getpid())
    assert mine
    assert mine == same
    assert mine.nofile[0] > 0
    assert limits(2**22 + 1) is None


def test_shared_memory(tmp_path: Path) -> None:
    assert shared_memory(tmp_path / "none") is None
    assert (shared_memory(tmp_path) or 0) > 0
