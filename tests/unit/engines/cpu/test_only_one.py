from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from launcher.engines.cpu.only_one import only_one
from launcher.errors import BusyError


def test_a_second_one_learns_who_is_at_work(tmp_path: Path) -> None:
    lock = tmp_path / "cpu" / ".lock"
    lock.parent.mkdir()
    with only_one(lock, None), pytest.raises(BusyError) as caught, only_one(lock, None):
        pass
    assert caught.value.exit_code == 4
    assert f"{lock.parent} is being installed by process {os.getpid()} of " in caught.value.message


def test_a_second_one_can_wait(tmp_path: Path) -> None:
    told: list[str] = []
    waiting, order = threading.Event(), []

    def second() -> None:
        def on_wait(who: str) -> None:
            told.append(who)
            waiting.set()

        with only_one(tmp_path / ".lock", on_wait):
            order.append("second")

    with only_one(tmp_path / ".lock", None):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert told[0].startswith(f"waiting for process {os.getpid()} of ")


def test_a_child_that_was_given_the_lock_holds_it_on(tmp_path: Path) -> None:
    with only_one(tmp_path / ".lock", None) as lock:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock,))
    with pytest.raises(BusyError), only_one(tmp_path / ".lock", None):
        pass
    child.communicate(b"\n")
    with only_one(tmp_path / ".lock", None):
        assert child.returncode == 0
