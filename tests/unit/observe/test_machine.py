"""What of this machine enters a plan."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import pytest

from launcher.observe import machine as module
from launcher.observe.machine import account, driver_version, ephemeral_range, gpu_models, machine

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.71.05  Release Build  (dvs-builder@U16)  Mon Nov 3
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.216.03  Fri Oct 25 22:43:06 UTC 2024\n"
INFORMATION = """\
Model: \t\t NVIDIA RTX PRO 6000 Blackwell Server Edition
IRQ:   \t\t 210
GPU UUID: \t GPU-7d0e7c1e-0000-0000-0000-000000000000
Bus Location: \t 0000:{bus}:00.0
"""


def driver(folder: Path, version: str = OPEN, buses: tuple[str, ...] = ("c1", "01", "41")) -> Path:
    """A tree as the driver has it in /proc."""
    nvidia = folder / "nvidia"
    nvidia.mkdir()
    (nvidia / "version").write_text(version)
    for bus in buses:
        card = nvidia / "gpus" / f"0000:{bus}:00.0"
        card.mkdir(parents=True)
        model = "NVIDIA H200" if bus == "01" else None
        text = INFORMATION.format(bus=bus)
        (card / "information").write_text(text if model is None else f"Model: \t\t {model}\n")
    return nvidia


def test_cards_come_in_the_order_of_their_addresses(tmp_path: Path) -> None:
    assert gpu_models(driver(tmp_path)) == (
        "NVIDIA H200",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    )


@pytest.mark.parametrize(("text", "version"), [(OPEN, "595.71.05"), (CLOSED, "535.216.03"), ("odd\n", None)])
def test_the_driver_s_version(tmp_path: Path, text: str, version: str | None) -> None:
    assert driver_version(driver(tmp_path, text)) == version


def test_without_a_driver(tmp_path: Path) -> None:
    assert (gpu_models(tmp_path / "none"), driver_version(tmp_path / "none")) == (None, None)


def test_a_card_without_a_model_is_unknown(tmp_path: Path) -> None:
    nvidia = driver(tmp_path, buses=("01",))
    (nvidia / "gpus/0000:01:00.0/information").write_text("")
    assert gpu_models(nvidia) == ("unknown",)


def test_the_facts_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_NVIDIA", driver(tmp_path))
    found = machine()
    me = pwd.getpwuid(os.geteuid())
    assert (found.user, found.home, found.python) == (me.pw_name, me.pw_dir, sys.executable)
    assert (found.driver, len(found.gpus or ())) == ("595.71.05", 3)
    assert found.ephemeral == ephemeral_range()
    assert 0 < found.ephemeral[0] < found.ephemeral[1] < 65536


def test_a_user_of_another_machine_is_taken_to_live_in_home() -> None:
    found = machine("nobody-here")
    assert (found.user, found.home) == ("nobody-here", "/home/nobody-here")
    assert account("nobody-here") is None
    assert account("root") == ("root", pwd.getpwnam("root").pw_dir)
