from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from launcher.backends.processes import Proc, Table
from launcher.backends.systemd.scene import Scene
from launcher.backends.systemd.units import unit

INFO = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "running",
    "MainPID": "0",
    "Result": "success",
    "NRestarts": "2",
    "ExecMainCode": "0",
    "ExecMainStatus": "0",
    "StateChangeTimestampMonotonic": "0",
}


def scene(info: Mapping[str, str] | None, *procs: Proc) -> Scene:
    return Scene("d", Table(procs), {} if info is None else {"decode-0": {**INFO, **info}})


@pytest.mark.parametrize(
    ("info", "state", "exit_status", "detail"),
    [
        ({}, "running", None, None),
        ({"ActiveState": "activating", "SubState": "start"}, "starting", None, None),
        (
            {
                "ActiveState": "activating",
                "SubState": "auto-restart",
                "Result": "signal",
                "ExecMainCode": "2",
                "ExecMainStatus": "9",
            },
            "backoff",
            -1,
            "terminated by SIGKILL",
        ),
        ({"ActiveState": "deactivating"}, "stopping", None, None),
        ({"ActiveState": "inactive"}, "stopped", None, None),
        ({"ActiveState": "inactive", "ExecMainCode": "1"}, "stopped", 0, None),
        (
            {"ActiveState": "failed", "Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "3"},
            "exited",
            3,
            "exit 3",
        ),
        (
            {"ActiveState": "failed", "Result": "start-limit-hit", "ExecMainCode": "2", "ExecMainStatus": "6"},
            "exited",
            -1,
            "terminated by SIGABRT; start-limit-hit",
        ),
        (
            {"ActiveState": "failed", "Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "217"},
            "failed",
            217,
            "systemd could not run it (code 217, see systemd.exec)",
        ),
        ({"ActiveState": "failed", "Result": "resources"}, "failed", None, "never ran; resources"),
        ({"ActiveState": "maintenance"}, "unknown", None, None),
    ],
)
def test_what_systemd_says_in_the_words_of_backends(
    info: Mapping[str, str], state: str, exit_status: int | None, detail: str | None
) -> None:
    found = unit(scene(info), "decode-0")
    assert (found.state, found.exit_status, found.detail, found.restarts) == (state, exit_status, detail, 2)
    assert found.wanted == (state != "stopped")


def test_a_service_without_a_unit_is_stopped() -> None:
    found = unit(scene(None), "decode-0")
    assert (found.state, found.pid, found.wanted) == ("stopped", None, False)


def test_a_process_outside_its_unit_is_not_supervised() -> None:
    by_hand = Proc(os.getpid(), 1, 1, 1, "decode-0", ("python",))
    found = unit(scene({"ActiveState": "inactive"}, by_hand), "decode-0")
    assert (found.state, found.pid, found.supervised) == ("running", os.getpid(), False)
    assert scene(None, by_hand).strays() == {"decode-0": (by_hand,)}


def test_the_main_process_is_the_one_that_systemd_names() -> None:
    main = Proc(os.getpid(), 5, 1, 1, "decode-0", ("python",))
    seen = scene({"MainPID": str(os.getpid())}, main)
    assert (seen.main("decode-0"), unit(seen, "decode-0").pid) == (main, os.getpid())
