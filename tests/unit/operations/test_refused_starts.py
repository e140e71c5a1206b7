"""What cannot start here is refused before anything is made: one clear error, exit code 2, nothing changed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.errors import InputError
from launcher.operations.checking import check, require_startable
from launcher.operations.events import silent
from launcher.operations.up import up
from launcher.plan import Environment
from launcher.store import state_dir

SGLANG = """\
name: real
model: /models/x
engine: {{venv: {venv}}}
aggregated: {{gpus: {gpus}}}
"""
SIMULATED = "name: s\nengine: {kind: simulator}\naggregated: {}\n"


def refused(folder: Path, text: str) -> InputError:
    path = folder / "p.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        up(path, silent)
    assert caught.value.exit_code == 2
    assert not state_dir().exists() or list(state_dir().iterdir()) == []
    return caught.value


def test_an_environment_that_is_not_here(tmp_path: Path) -> None:
    error = refused(tmp_path, SGLANG.format(venv="/nowhere/venv", gpus=0))
    assert error.message == "there is no serving environment at /nowhere/venv"
    assert error.hint == "pdlaunch engine add PATH says what is there"


def test_the_cpu_engine_that_is_not_installed(tmp_path: Path) -> None:
    error = refused(tmp_path, "name: c\nengine: {kind: cpu}\naggregated: {}\n")
    assert (error.message, error.hint) == (
        "there is no serving environment at the usual place",
        "pdlaunch engine install cpu",
    )


def test_a_user_that_is_not_here(tmp_path: Path) -> None:
    text = SIMULATED.replace("kind: simulator", "kind: simulator, user: nobody-of-this-name")
    assert refused(tmp_path, text).message == "there is no user 'nobody-of-this-name' on this machine"


def test_a_router_that_is_not_here(tmp_path: Path) -> None:
    error = refused(tmp_path, SIMULATED.replace("aggregated", "prefill: {}\ndecode") + "router: {port: 30000}\n")
    assert error.message == "there is no sglang-router in the engine's environment or in pdlaunch's own"


def test_systemd_where_it_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launcher.backends.systemd.systemctl._BOOTED", tmp_path / "absent")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    error = refused(tmp_path, SIMULATED + "backend: systemd\n")
    assert (error.message, error.exit_code) == ("systemd does not run this machine", 2)
    assert error.hint == "pdlaunch up PROFILE --backend supervisord"


class TestCards:
    """What is asked of a machine with the real engine: made up, since this one may have neither."""

    ENGINE = Environment(python="/v/bin/python", version="0.5.23")

    @pytest.mark.parametrize(
        ("cards", "gpus", "message"),
        [
            (None, "0", "there is no NVIDIA driver on this machine, so no card to start on"),
            (("NVIDIA H200",) * 2, "1-2", "there is no GPU 2: this machine has 2 (NVIDIA H200)"),
            (("NVIDIA H200",) * 2, "0-1", None),
        ],
    )
    def test_every_card_must_be_there(
        self, tmp_path: Path, cards: tuple[str, ...] | None, gpus: str, message: str | None
    ) -> None:
        path = tmp_path / "p.yaml"
        path.write_text(SGLANG.format(venv="/v", gpus=gpus))
        checked = check(path)
        machine = checked.facts.machine.model_copy(update={"gpus": cards})
        facts = checked.facts.model_copy(update={"machine": machine, "engine": self.ENGINE})
        made = replace(checked, facts=facts)
        if message is None:
            require_startable(made)
            return
        with pytest.raises(InputError) as caught:
            require_startable(made)
        assert caught.value.message == message
