from __future__ import annotations

import datetime as dt
import os
import signal
from pathlib import Path

import pytest

from launcher.errors import BusyError, PdlaunchError
from launcher.store import Hold, Store, Writing, claim, holders, writer, writing
from launcher.store.process import this_process
from launcher.store.writer import moment

from .crowd import Report, Stay, crowd
from .making import a_generation, a_layout

TWENTY = 20


def test_of_twenty_writers_one_wins_and_the_others_learn_who(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)

    def task(number: int, report: Report, stay: Stay) -> None:
        try:
            with writer(layout, "up", by=f"anna-{number}", why="crowd"):
                report(f"won by anna-{number}, pid {os.getpid()}")
                stay()
        except BusyError as error:
            report(error.message)

    lines = crowd(TWENTY, task)
    (won,) = [line for line in lines if line.startswith("won by ")]
    name, pid = won.removeprefix("won by ").split(", pid ")
    said = {line for line in lines if line != won}
    assert len(said) == 1
    assert (
        said.pop() == f"busy: {name} is running `up` since {moment(dt.datetime.now().astimezone())} (pid {pid}): crowd"
    )
    assert writing(layout) is None


def test_twenty_writers_in_turn_lose_nothing(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)

    def task(number: int, report: Report, stay: Stay) -> None:
        while True:
            try:
                with writer(layout, "up", by=f"anna-{number}"):
                    store = Store(layout)
                    generation = a_generation(store, why=f"{number}")
                    store.set_current(generation.number, by=f"anna-{number}")
            except BusyError:
                continue
            return report(f"{generation.number}")

    numbers = sorted(map(int, crowd(TWENTY, task)))
    store = Store(layout)
    assert numbers == list(range(1, TWENTY + 1)) == list(store.numbers())
    assert store.current() in numbers
    assert {generation.about.why for generation in store.generations()} == {f"{i}" for i in range(TWENTY)}
    assert all(store.verify(number) == [] for number in numbers)
    assert len(store.journal.events()) == 2 * TWENTY
    assert store.journal.damage() == []


def test_of_twenty_deployments_one_gets_the_card(tmp_path: Path) -> None:
    def task(number: int, report: Report, stay: Stay) -> None:
        layout = a_layout(tmp_path, f"d{number}")
        try:
            claim(layout, [f"port-{31000 + number}", "gpu-0", "gpu-1"], by="anna", is_alive=nobody)
            report(f"won by {layout.deployment}")
            stay()
        except BusyError as error:
            report(error.message)

    lines = crowd(TWENTY, task)
    (won,) = [line.removeprefix("won by ") for line in lines if line.startswith("won by ")]
    assert all(line.startswith(f"busy: gpu-0, gpu-1 held by {won} (anna, since ") for line in lines if "busy" in line)
    assert sorted(holders()) == ["gpu-0", "gpu-1", f"port-{31000 + int(won[1:])}"]


def nobody(hold: Hold) -> bool:
    return False


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)

    def task(number: int, report: Report, stay: Stay) -> None:
        if (child := os.fork()) == 0:
            with writer(layout, "up", by="killed"):
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        report("dead")

    assert crowd(1, task) == ["dead"]
    assert "killed" in (layout.state / "writer.lock").read_text()
    assert writing(layout) is None
    with writer(layout, "down", by="anna") as mine:
        assert writing(layout) == mine
    assert (layout.state / "writer.lock").read_text() == ""


def test_the_lock_is_given_back_when_the_block_fails(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    with pytest.raises(PdlaunchError, match="as it goes"), writer(layout, "up", by="anna"):
        raise PdlaunchError("as it goes")
    with writer(layout, "up", by="anna"):
        pass


def test_a_busy_deployment_says_what_to_do(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    with writer(layout, "rollback", by="anna"):
        with pytest.raises(BusyError) as caught, writer(layout, "up", by="bob"):
            raise AssertionError("two writers")
        hint = f"wait until it is done (pdlaunch status -d tiny), or end it: kill {os.getpid()}"
        assert caught.value.hint == hint
        assert caught.value.exit_code == 4
        (layout.state / "writer.lock").write_text("")
        with pytest.raises(BusyError, match="busy: another pdlaunch is changing tiny"), writer(layout, "up", by="bob"):
            raise AssertionError("two writers")


def test_in_a_groups_folder_the_lock_is_the_groups(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    layout.state.mkdir(parents=True)
    for mode, expected in ((0o755, 0o644), (0o2775, 0o664)):
        layout.state.chmod(mode)
        with writer(layout, "up", by="anna"):
            assert (layout.state / "writer.lock").stat().st_mode & 0o7777 == expected


def test_nobody_writes_where_there_is_nothing(tmp_path: Path) -> None:
    assert writing(a_layout(tmp_path)) is None


def test_another_day_is_named() -> None:
    long_ago = dt.datetime(2026, 11, 30, 20, 31).astimezone()
    assert moment(long_ago) == "2026-11-30 20:31"
    today = dt.datetime.now().astimezone().replace(hour=20, minute=31)
    note = Writing(operation="up", by="anna", why=None, process=this_process(), since=today)
    assert str(note) == f"anna is running `up` since 20:31 (pid {os.getpid()})"
