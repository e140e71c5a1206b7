"""The event listener that goes with a generation, against a stand-in for supervisord's interface."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import time
import xmlrpc.client
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from launcher.plan.model import MARK
from launcher.shipped import shipped

SCRIPT = shipped("templates") / "supervisord" / "restarts.py"


class Rpc:
    """What supervisord would answer; starting makes a program RUNNING."""

    def __init__(self, **states: str) -> None:
        self.infos = {name.replace("_", "-"): self.info(name.replace("_", "-"), s) for name, s in states.items()}
        self.started: list[str] = []
        self.fault: str | None = None

    @staticmethod
    def info(name: str, state: str) -> dict[str, Any]:
        start = 0 if state == "STOPPED" else 1000
        return {"name": name, "statename": state, "start": start, "exitstatus": 1, "spawnerr": "no such file"}

    def getAllProcessInfo(self) -> list[dict[str, Any]]:  # noqa: N802  supervisord's name
        if self.fault == "SHUTDOWN_STATE":
            raise xmlrpc.client.Fault(6, self.fault)
        return list(self.infos.values())

    def startProcess(self, name: str, wait: bool) -> bool:  # noqa: N802  supervisord's name
        assert not wait
        if self.fault:
            raise xmlrpc.client.Fault(10, self.fault)
        self.started.append(name)
        self.infos[name]["statename"] = "RUNNING"
        return True

    def crash(self, name: str) -> None:
        self.infos[name]["statename"] = "EXITED"


@pytest.fixture(scope="module")
def restarts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("restarts", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def state(tmp_path: Path, restarts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(restarts, "PAUSE", 0.0)
    (tmp_path / "supervisord").mkdir()
    return tmp_path


def want(state: Path, name: str, text: str = "1.0 asked\n") -> Path:
    path = state / "supervisord" / f"{name}.runs"
    path.write_text(text)
    return path


def words(path: Path) -> list[str]:
    return [line.split()[1] for line in path.read_text().splitlines()]


def test_what_is_wanted_and_ended_is_started_again_as_often_as_allowed(
    state: Path, restarts: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rpc = Rpc(decode_0="RUNNING", prefill_0="RUNNING")
    runs = want(state, "decode-0")
    services = restarts.Services(state, 2, 60, rpc)
    services.look_after()
    assert rpc.started == []
    for _ in range(4):
        rpc.crash("decode-0")
        services.look_after()
        services.look_after()
    assert rpc.started == ["decode-0", "decode-0"]
    assert words(runs) == ["asked", "again", "again", "left"]
    said = [line.split(" ", 2)[2] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "decode-0 exited with status 1; started again",
        "decode-0 exited with status 1; started again",
        "decode-0 exited with status 1; started again 2 times in 60 s: left as it is",
    ]


def test_old_restarts_do_not_count_but_what_was_left_stays_left(state: Path, restarts: ModuleType) -> None:
    rpc = Rpc(decode_0="EXITED", prefill_0="EXITED")
    now = time.time()
    want(state, "decode-0", f"1.0 asked\n{now - 100} again\n{now - 61} again\n")
    want(state, "prefill-0", f"1.0 asked\n{now - 100} again\n{now - 99} left\n")
    restarts.Services(state, 2, 60, rpc).look_after()
    assert rpc.started == ["decode-0"]


def test_no_tries_means_never(state: Path, restarts: ModuleType) -> None:
    rpc = Rpc(decode_0="EXITED")
    runs = want(state, "decode-0")
    restarts.Services(state, 0, 60, rpc).look_after()
    assert (rpc.started, words(runs)) == ([], ["asked", "left"])


@pytest.mark.parametrize("ended", ["EXITED", "FATAL"])
def test_any_end_by_itself_counts(
    state: Path, restarts: ModuleType, ended: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rpc = Rpc(decode_0=ended)
    rpc.infos["decode-0"]["exitstatus"] = 0 if ended == "EXITED" else 1
    want(state, "decode-0")
    restarts.Services(state, 2, 60, rpc).look_after()
    assert rpc.started == ["decode-0"]
    end = "exited with status 0" if ended == "EXITED" else "could not be started (no such file)"
    assert f"decode-0 {end}; started again" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["STOPPED", "STOPPING", "BACKOFF", "STARTING", "RUNNING", "UNKNOWN"])
def test_nothing_else_is_touched(state: Path, restarts: ModuleType, other: str) -> None:
    rpc = Rpc(decode_0=other)
    want(state, "decode-0")
    restarts.Services(state, 2, 60, rpc).look_after()
    assert rpc.started == []


def test_what_is_not_wanted_is_not_started(state: Path, restarts: ModuleType) -> None:
    rpc = Rpc(decode_0="EXITED")
    services = restarts.Services(state, 2, 60, rpc)
    services.look_after()
    services.resume()
    assert rpc.started == []


def test_what_is_withdrawn_during_the_pause_is_not_started(
    state: Path, restarts: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    rpc = Rpc(decode_0="EXITED")
    runs = want(state, "decode-0")
    monkeypatch.setattr(restarts.time, "sleep", lambda _: runs.unlink())
    restarts.Services(state, 2, 60, rpc).look_after()
    assert rpc.started == []
    assert not runs.exists(), "and noting it did not bring the file back"


def test_what_supervisord_does_not_know_any_more_is_no_error(
    state: Path, restarts: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rpc = Rpc(decode_0="EXITED")
    want(state, "decode-0")
    rpc.fault = "BAD_NAME: decode-0"
    restarts.Services(state, 2, 60, rpc).look_after()
    assert "BAD_NAME" in capsys.readouterr().err
    rpc.fault = "SHUTDOWN_STATE"
    restarts.Services(state, 2, 60, rpc).look_after()
    restarts.Services(state, 2, 60, rpc).resume()


def test_what_cannot_be_counted_is_not_started(
    state: Path, restarts: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rpc = Rpc(decode_0="EXITED")
    want(state, "decode-0")

    def full(path: Path, flags: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(restarts.os, "open", full)
    restarts.Services(state, 2, 60, rpc).look_after()
    assert rpc.started == []
    assert "No space left on device" in capsys.readouterr().err


def test_remains_are_killed_first(state: Path, restarts: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    rpc = Rpc(decode_0="EXITED")
    want(state, "decode-0")
    mine, other = (marked(state, name) for name in ("decode-0", "decode-01"))
    restarts.Services(state, 2, 60, rpc).look_after()
    assert mine.wait() == -9
    assert other.poll() is None
    other.kill()
    other.wait()
    assert "left 1 processes: killed" in capsys.readouterr().err


def test_a_new_supervisord_starts_what_is_wanted(
    state: Path, restarts: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rpc = Rpc(decode_0="STOPPED", prefill_0="STOPPED", router="STOPPED")
    want(state, "decode-0")
    want(state, "prefill-0")
    outside = marked(state, "prefill-0")
    restarts.Services(state, 2, 60, rpc).resume()
    assert rpc.started == ["decode-0"]
    assert f"prefill-0 already runs, but outside supervisord, as pid {outside.pid}" in capsys.readouterr().err
    assert outside.poll() is None
    outside.kill()
    outside.wait()


def test_what_was_stopped_by_hand_is_not_resumed(state: Path, restarts: ModuleType) -> None:
    rpc = Rpc(decode_0="STOPPED")
    rpc.infos["decode-0"]["start"] = 1000
    want(state, "decode-0")
    restarts.Services(state, 2, 60, rpc).resume()
    assert rpc.started == []


def marked(state: Path, name: str) -> subprocess.Popen[bytes]:
    popen = subprocess.Popen(["sleep", "60"], env={MARK: str(state / name), "PATH": os.environ["PATH"]})
    while MARK.encode() not in Path(f"/proc/{popen.pid}/environ").read_bytes():
        time.sleep(0.01)
    return popen
