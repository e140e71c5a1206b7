from __future__ import annotations

import errno
import os
from importlib import import_module
from pathlib import Path

import pytest

from launcher.engines import engines_dir, registered
from launcher.engines.cpu import home, install, installed
from launcher.engines.cpu.build import Builder
from launcher.engines.cpu.only_one import only_one
from launcher.engines.cpu.steps import Step, Tell
from launcher.errors import BusyError, PdlaunchError
from tests.unit.engines.trees import venv

VERSIONS = {"sglang": "0.5.23", "torch": "2.13.0+cpu", "nixl": "1.5.1", "sglang_router": "0.3.2", "transformers": "5"}


class World:
    """What an installation meets: pins that can change, a verification that can fail, and what was told."""

    def __init__(self) -> None:
        self.pins = "first"
        self.failure: Exception | None = None
        self._told: list[str] = []

    def environment(self, prefix: Path) -> tuple[Step, ...]:
        """The steps before the model: one, that makes a small environment."""

        def make(tell: Tell) -> None:
            tell("small environment")
            if not prefix.exists():
                venv(prefix, VERSIONS)

        return (Step("venv", self.pins, prefix / "bin" / "python", make),)

    def verify(self, _venv: Path, model: Path) -> dict[str, str]:
        assert (model / "model.safetensors").is_file()
        if self.failure:
            raise self.failure
        return {"layer": "on"}

    def progress(self, step: str, _detail: str) -> None:
        self._told.append(step)

    def done(self) -> list[str]:
        """The steps that told something since the last call."""
        names, self._told = self._told, []
        return names


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    found = World()
    monkeypatch.setenv("PDLAUNCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(Builder, "steps", lambda builder: found.environment(builder.venv))
    # By import_module: in the package, `install` is the function.
    monkeypatch.setattr(import_module("launcher.engines.cpu.installing"), "verify", found.verify)
    return found


def test_an_engine_is_made_and_then_found(world: World) -> None:
    assert installed() is None

    made = install(home(), progress=world.progress)

    assert world.done() == ["venv", "model", "verify"]
    assert made.home == engines_dir() / "cpu"
    assert made.python.exists()
    assert (made.model / "config.json").is_file()
    assert made.versions == {"python": "3.11.7", **{k.replace("_", "-"): v for k, v in VERSIONS.items()}}
    assert made.checks == {"layer": "on"}
    assert made.size > 2_900_000
    assert list(made.seconds) == ["venv", "model", "verify"]
    assert install(home(), progress=world.progress) == made == installed()
    assert world.done() == []
    assert [engine.name for engine in registered()] == ["cpu", "simulator"]


def test_other_pins_bring_it_up_to_date(world: World) -> None:
    install(home(), progress=world.progress)
    world.done()
    world.pins = "second"
    install(home(), progress=world.progress)
    assert world.done() == ["venv", "model", "verify"]


def test_an_engine_that_does_not_work_is_not_installed(world: World) -> None:
    install(home(), progress=world.progress)
    world.pins, world.failure = "second", PdlaunchError("no transfer")
    with pytest.raises(PdlaunchError, match="no transfer"):
        install(home(), progress=world.progress)
    assert installed() is None
    world.failure = None
    world.done()
    install(home(), progress=world.progress)
    assert world.done() == ["verify"]


@pytest.mark.parametrize("damage", ["", "{", "{}"])
def test_a_damaged_record_is_no_engine_and_is_written_anew(world: World, damage: str) -> None:
    made = install(home(), progress=world.progress)
    (home() / "engine.json").write_text(damage)
    assert installed() is None
    world.done()
    assert install(home(), progress=world.progress).checks == made.checks
    assert world.done() == ["verify"]


def test_two_at_once_do_not_meet(world: World) -> None:
    home().mkdir(parents=True)
    with only_one(home() / ".lock", None), pytest.raises(BusyError, match="is being installed by process"):
        install(home(), progress=world.progress)
    assert world.done() == []


@pytest.mark.parametrize(
    ("number", "message", "hint"),
    [
        (errno.ENOSPC, "the disk is full at", "make room"),
        (errno.EACCES, "cannot write /there: Permission denied", "PDLAUNCH_DATA_DIR"),
    ],
)
def test_a_disk_that_does_not_take_it_is_one_clear_error(world: World, number: int, message: str, hint: str) -> None:
    world.failure = OSError(number, os.strerror(number), "/there")
    with pytest.raises(PdlaunchError) as caught:
        install(home(), progress=world.progress)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert (caught.value.hint or "").endswith("then go on: pdlaunch engine install cpu")
