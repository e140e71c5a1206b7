from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from launcher.engines.cpu import pins
from launcher.engines.cpu.build import Builder
from launcher.engines.cpu.pip import Pip
from launcher.errors import PdlaunchError
from tests.unit.engines.trees import distribution, package, venv

Calls = list[tuple[str, list[str]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What pip was asked for, in order."""
    asked: Calls = []

    def note(_pip: Pip, arguments: Sequence[str], _tell: object) -> None:
        asked.append((arguments[0], list(arguments[1:])))

    monkeypatch.setattr(Pip, "_run", note)
    return asked


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    pip = Pip(python=tmp_path / "venv" / "bin" / "python", log=tmp_path / "log", scratch=tmp_path / "tmp", lock=-1)
    return Builder(tmp_path / "venv", pip)


def run(builder: Builder, name: str) -> list[str]:
    """Do one step; returns what it told."""
    told: list[str] = []
    next(step for step in builder.steps() if step.name == name).run(told.append)
    return told


def test_the_steps_and_their_order(builder: Builder) -> None:
    assert [step.name for step in builder.steps()] == ["venv", "torch", "libraries", "engine", "layer"]


def test_a_changed_pin_is_another_input_of_its_group_alone(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {step.name: step.inputs for step in builder.steps()}
    text = pins.FILE.read_text().replace("tqdm==", "tqdm==9.")
    monkeypatch.setattr(Path, "read_text", lambda self: text if self == pins.FILE else "")
    after = {step.name: step.inputs for step in builder.steps()}
    assert [name for name in before if before[name] != after[name]] == ["libraries"]


def test_a_group_is_installed_as_it_is_pinned(builder: Builder, calls: Calls) -> None:
    venv(builder.venv)
    assert run(builder, "torch") == ["torch==2.13.0+cpu"]
    assert calls == [("install", ["--no-deps", "--progress-bar", "off", "torch==2.13.0+cpu"])]


def test_what_a_kill_left_half_installed_is_cleared_first(builder: Builder, calls: Calls) -> None:
    packages = venv(builder.venv, {"whole": "1"})
    (distribution(packages, "half", "1") / "RECORD").unlink()
    package(packages / "~orch")
    distribution(packages, "~orch", "2.13.0")
    (packages / "~leftover.pth").touch()

    run(builder, "libraries")

    assert sorted(path.name for path in packages.iterdir()) == ["whole-1.dist-info"]
    assert calls[0][0] == "install"


def test_what_is_pinned_no_more_is_removed(builder: Builder, calls: Calls) -> None:
    venv(builder.venv, {"pip": "23.2.1", "setuptools": "65.5.0", "torch": "2.13.0+cpu", "PyYAML": "6.0.4", "six": "1"})
    run(builder, "engine")
    assert calls[1:] == [("uninstall", ["--yes", "six"])]


def test_an_environment_that_does_not_start_makes_room_for_a_new_one(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(venv(builder.venv) / "old")
    made: list[list[str]] = []

    def make(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        made.append([str(word) for word in command[1:]])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("launcher.engines.cpu.build.subprocess.run", make)
    run(builder, "venv")
    assert made == [["-m", "venv", str(builder.venv)]]
    assert not builder.venv.exists()


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("The virtual environment was not created because ensurepip is not available.", "apt-get install python3-venv"),
        ("Error: [Errno 13] Permission denied", "go on: pdlaunch engine install cpu"),
    ],
)
def test_a_python_that_cannot_make_one_says_why(
    builder: Builder, monkeypatch: pytest.MonkeyPatch, said: str, hint: str
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr("launcher.engines.cpu.build.subprocess.run", lambda *_, **__: failed)
    with pytest.raises(PdlaunchError) as caught:
        run(builder, "venv")
    assert said in caught.value.message
    assert (caught.value.hint or "").startswith(hint)


def test_the_layer_comes_with_the_line_that_switches_it(builder: Builder) -> None:
    packages = venv(builder.venv)
    package(packages / "pdlaunch_cpu_layer", {"left_over.py": ""})
    run(builder, "layer")
    put = {path.name for path in (packages / "pdlaunch_cpu_layer").iterdir()}
    assert put == {"README.md", "__init__.py", "events.py", "hooks.py", "nixl.py", "stand_ins.py"}
    assert (packages / "pdlaunch_cpu_layer.pth").read_text().startswith("import os; ")
