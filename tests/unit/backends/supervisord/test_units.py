"""The state of a service from what supervisord, the run files and the processes say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from launcher.backends.processes import Proc, Table
from launcher.backends.protocol import Unit
from launcher.backends.supervisord.runs import Run
from launcher.backends.supervisord.scene import Scene
from launcher.backends.supervisord.units import unit
from launcher.render import Layout

DAEMON = 10
MAIN = 20


def layout(state: Path = Path("/state")) -> Layout:
    return Layout(deployment="d", state=state, cache=state, run=state)


def proc(
    pid: int, ppid: int = DAEMON, started: int = 100, service: str | None = "decode-0", cmdline: str = "serve"
) -> Proc:
    return Proc(pid, started, ppid, pid, service, (cmdline,))


def info(state: str = "RUNNING", pid: int = MAIN, **more: Any) -> dict[str, Any]:
    return {"statename": state, "pid": pid, "start": 1000, "stop": 900, "exitstatus": 0, "spawnerr": "", **more}


def scene(
    *procs: Proc, daemon: int | None = DAEMON, infos: dict[str, Any] | None = None, run: Run | None = None
) -> Scene:
    table = Table([*procs, *([proc(daemon, 1, service="supervisord")] if daemon else [])])
    return Scene(table, daemon, infos or {}, {"decode-0": run} if run else {})


def seen(found: Scene) -> Unit:
    return unit(found, "decode-0", layout())


def test_running() -> None:
    found = seen(scene(proc(MAIN), infos={"decode-0": info()}, run=Run(MAIN, 2)))
    assert (found.state, found.pid, found.since, found.restarts) == ("running", MAIN, 1000.0, 2)
    assert (found.wanted, found.supervised, found.exit_status, found.detail) == (True, True, None, None)


@pytest.mark.parametrize(
    ("said", "state", "since"),
    [
        ("STARTING", "starting", 1000.0),
        ("STOPPING", "stopping", 1000.0),
        ("BACKOFF", "backoff", 1000.0),
        ("STOPPED", "stopped", 900.0),
        ("EXITED", "exited", 900.0),
        ("FATAL", "failed", 900.0),
        ("SOMETHING", "unknown", 1000.0),
    ],
)
def test_supervisords_words(said: str, state: str, since: float) -> None:
    found = seen(scene(infos={"decode-0": info(said, pid=0)}))
    assert (found.state, found.since, found.pid, found.supervised) == (state, since, None, True)


def test_a_stopped_service_has_no_exit_status_and_an_exited_one_has() -> None:
    assert seen(scene(infos={"decode-0": info("STOPPED", 0, exitstatus=7)})).exit_status is None
    assert seen(scene(infos={"decode-0": info("EXITED", 0, exitstatus=7)})).exit_status == 7
    assert seen(scene(infos={"decode-0": info("FATAL", 0, spawnerr="no such file")})).detail == "no such file"


def test_how_it_ended_last_is_read_from_the_daemons_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "supervisord.log"
    ended = scene(infos={"decode-0": info("EXITED", 0, exitstatus=-1)})
    assert unit(ended, "decode-0", layout(tmp_path)).detail is None
    log.write_text(
        "x" * 100_000
        + "\n2026-12-01 04:00:00,000 WARN exited: decode-0 (exit status 1; not expected)\n"
        + "2026-12-01 04:00:01,000 WARN exited: decode-0 (terminated by SIGKILL (core dumped); not expected)\n"
        + "2026-12-01 04:00:02,000 INFO exited: decode-1 (exit status 0; expected)\n"
    )
    assert unit(ended, "decode-0", layout(tmp_path)).detail == "terminated by SIGKILL (core dumped)"


def test_the_daemon_is_gone_and_the_service_is_not() -> None:
    found = seen(scene(proc(MAIN, 1), daemon=None, run=Run(MAIN, 1)))
    assert (found.state, found.pid, found.supervised, found.wanted, found.restarts) == ("running", MAIN, False, True, 1)


def test_both_are_gone() -> None:
    assert seen(scene(daemon=None, run=Run(MAIN, 0))).state == "exited"
    assert seen(scene(daemon=None)).state == "stopped"


def test_only_remains_are_left() -> None:
    found = seen(scene(proc(31, 1), daemon=None, run=Run(MAIN, 0)))
    assert (found.state, found.pid, found.supervised) == ("exited", None, True)
    assert [p.pid for p in scene(proc(31, 1), daemon=None, run=Run(MAIN, 0)).strays("decode-0")] == [31]


def test_without_a_record_the_oldest_is_taken_for_the_main_process() -> None:
    found = scene(proc(32, 31, started=300), proc(31, 1, started=200), daemon=None)
    assert seen(found).pid == 31


def test_a_daemon_that_was_told_to_end_stops_its_services() -> None:
    found = seen(scene(proc(MAIN), run=Run(MAIN, 0)))
    assert (found.state, found.supervised) == ("stopping", True)


def test_a_service_started_by_hand_while_it_is_stopped() -> None:
    found = seen(scene(proc(40, 1), infos={"decode-0": info("STOPPED", 0)}))
    assert (found.state, found.pid, found.supervised, found.wanted) == ("running", 40, False, False)


def test_a_twin_beside_a_supervised_service() -> None:
    children = (proc(21, MAIN, cmdline="worker"), proc(22, 1, started=150, cmdline="worker"))
    twin = (proc(40, 1, started=200), proc(41, 40, started=201, cmdline="worker"))
    found = scene(proc(MAIN), *children, *twin, infos={"decode-0": info()}, run=Run(MAIN, 0))
    assert {p.pid for p in found.strays("decode-0")} == {40, 41}, "22 is a child that took another parent"
    assert seen(found).pid == MAIN
    older = scene(
        proc(MAIN, started=500),
        proc(30, 1, started=100, cmdline="former"),
        infos={"decode-0": info()},
        run=Run(MAIN, 0),
    )
    assert [p.pid for p in older.every_stray()["decode-0"]] == [30]


def test_the_daemons_own_processes_are_no_service() -> None:
    listener = proc(11, DAEMON, service="supervisord")
    assert scene(listener).services() == ()
    assert scene(listener, daemon=None).every_stray() == {}
