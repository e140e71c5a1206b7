from __future__ import annotations

from pathlib import Path

import pytest

from launcher.observe.upgrades import Upgrade, pending_upgrades

SAID = """\
NOTE: This is only a simulation!
Inst libssl3 [3.0.2-0ubuntu1.18] (3.0.2-0ubuntu1.19 Ubuntu:22.04/jammy-updates [amd64])
Inst nvidia-driver-595-server-open [595.71.05-0ubuntu1] (600.10.01-0ubuntu1 NVIDIA:24.04 [amd64]) []
Inst linux-image-generic [6.8.0-60.63] (6.8.0-71.71 Ubuntu:24.04/noble-updates [amd64])
Inst linux-image-6.8.0-71-generic (6.8.0-71.71 Ubuntu:24.04/noble-updates [amd64])
Inst cuda-toolkit-13-0 [13.0.1-1] (13.0.2-1 NVIDIA [amd64])
Inst linux-firmware [20240318] (20240319 Ubuntu:24.04 [all])
Conf nvidia-driver-595-server-open (600.10.01-0ubuntu1 NVIDIA:24.04 [amd64])
"""


def apt(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "bin" / "apt-get"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_what_lies_under_the_cards_is_told_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "said").write_text(SAID)
    apt(tmp_path, monkeypatch, f'case "$*" in *-s*dist-upgrade) cat {tmp_path}/said;; *) exit 9;; esac')
    assert pending_upgrades() == (
        Upgrade("nvidia-driver-595-server-open", "595.71.05-0ubuntu1", "600.10.01-0ubuntu1"),
        Upgrade("linux-image-generic", "6.8.0-60.63", "6.8.0-71.71"),
        Upgrade("cuda-toolkit-13-0", "13.0.1-1", "13.0.2-1"),
    )


def test_without_apt_nothing_is_pending(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pending_upgrades() == ()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'E: The list of sources could not be read.' >&2; exit 100", "E: The list of sources could not be read."),
        ("exec sleep 60", "timed out"),
    ],
)
def test_an_apt_that_does_not_say_is_no_all_clear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    apt(tmp_path, monkeypatch, script)
    found = pending_upgrades(patience=1.0)
    assert isinstance(found, str)
    assert said in found
