"""What becomes of errors: one clear message, a hint, an exit code, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.cli import app, every_day
from launcher.errors import (
    BusyError,
    InputError,
    PdlaunchError,
    ProbeFailedError,
    Problem,
    ReturnedError,
)
from launcher.operations.interrupts import Interrupted

from .conftest import Shell

SIX = "name: six\nmodel: /models/six\nengine: {venv: /opt/v}\nprefill: {gpus: 0-3}\ndecode: {gpus: 4-7}\n"


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (("nonsense",), 2, "error: No such command 'nonsense'\nhint: pdlaunch --help\n"),
        (("up",), 2, "error: Missing argument 'PROFILE'\nhint: pdlaunch up --help\n"),
        (("up", "a.yaml", "b.yaml"), 2, "error: Got unexpected extra argument(s) (b.yaml)\nhint: pdlaunch up --help\n"),
        (("status", "--nonsense"), 2, "error: No such option: --nonsense\nhint: pdlaunch status --help\n"),
        (("logs", "-n", "many"), 2, None),
        (("rollback",), 2, "error: Missing option '--to'\nhint: pdlaunch rollback --help\n"),
        (
            ("engine", "install", "gpu"),
            2,
            "error: pdlaunch installs no engine called 'gpu'\n"
            "hint: pdlaunch engine install cpu; one with GPUs is made with pip, then: pdlaunch engine add PATH\n",
        ),
    ],
)
def test_a_wrong_command_line(shell: Shell, words: tuple[str, ...], code: int, err: str | None) -> None:
    said = shell(*words)
    assert (said.code, said.out) == (code, "")
    if err is None:
        assert said.err.startswith("error: Invalid value for '-n' / '--lines': ")
        assert said.err.endswith("\nhint: pdlaunch logs --help\n")
    else:
        assert said.err == err


@pytest.mark.parametrize("words", [("check",), ("plan",), ("up",), ("render", "-o", "out")])
def test_a_profile_that_is_not_there(shell: Shell, words: tuple[str, ...]) -> None:
    said = shell(*words, "/nowhere/x.yaml")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "/nowhere/x.yaml\n  error  there is no such file\n\n"
        "error: /nowhere/x.yaml: 1 error; nothing was started or changed\n"
    )


def test_every_problem_of_a_profile_is_told_at_once(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "six.yaml"
    path.write_text(SIX + "router: {prot: 8000}\nready: {within: 90}\n")
    said = shell("check", str(path))
    assert (said.code, said.out) == (2, "")
    assert f"{path}:6  router.prot" in said.err
    assert f"{path}:7  ready.within" in said.err
    assert said.err.splitlines()[-1].startswith(f"error: {path}: ")
    assert said.err.splitlines()[-1].endswith(" errors; nothing was started or changed")
    assert "Traceback" not in said.err
    again = shell("up", str(path))
    assert (again.code, again.err) == (said.code, said.err)


def test_problems_as_json(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "six.yaml"
    path.write_text(SIX + "router: {prot: 8000}\n")
    said = shell("check", str(path), "--json")
    assert (said.code, said.err) == (2, "")
    assert '"severity": "error"' in said.out
    assert f'"where": "{path}:6"' in said.out


@pytest.mark.parametrize(
    ("error", "code", "err"),
    [
        (PdlaunchError("it broke", hint="mend it"), 1, "error: it broke\nhint: mend it\n"),
        (InputError("no such thing"), 2, "error: no such thing\n"),
        (BusyError("busy: anna"), 4, "error: busy: anna\n"),
        (ProbeFailedError("no token"), 5, "error: no token\n"),
        (ReturnedError("went back"), 6, "error: went back\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (Interrupted(), 130, "interrupted\n"),
        (FileNotFoundError(2, "No such file or directory", "/x"), 1, "error: No such file or directory (/x)\n"),
        (OSError(28, "No space left on device"), 1, "error: No space left on device\n"),
    ],
)
def test_what_a_command_raises(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, err: str
) -> None:
    def broken() -> int:
        raise error

    monkeypatch.setattr(app, "GROUPS", (("Every day", {"status": broken}),))
    said = shell("status")
    assert (said.code, said.out, said.err) == (code, "", err)
    assert every_day.COMMANDS["status"] is not broken


def test_what_is_no_error_of_ours_is_not_hidden(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(app, "GROUPS", (("Every day", {"status": broken}),))
    with pytest.raises(ZeroDivisionError):
        shell("status")


def test_a_folder_that_the_system_refuses(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("name: s\nengine: {kind: simulator}\naggregated: {}\n")
    said = shell("render", str(path), "-o", "/proc/nowhere")
    assert (said.code, said.out) == (1, "")
    assert said.err == "error: No such file or directory (/proc/nowhere)\n"


class TestProblem:
    def test_as_the_operator_reads_it(self) -> None:
        problem = Problem("x.yaml:3", "decode.env.A = 1", "is unknown", "A2: 1\nB: 2", code="PD204")
        assert str(problem) == ("x.yaml:3  decode.env.A = 1\n  error  PD204: is unknown\n  write  A2: 1\n         B: 2")
        assert str(Problem("x.yaml", "", "is empty")) == "x.yaml\n  error  is empty"
        assert str(Problem("x:1", "a", "odd", severity="warning")) == "x:1  a\n  warning odd"
