from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from launcher.store import who

LOGINUID = Path("/proc/self/loginuid")


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the kernel says of the login."""
    said = ["4294967295"]
    read_text = Path.read_text

    def read(path: Path, *args: str, **options: str) -> str:
        return said[0] if path == LOGINUID else read_text(path, *args, **options)

    monkeypatch.setattr(Path, "read_text", read)
    return said


def test_the_order(login: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert who() == "root"
    monkeypatch.setenv("SUDO_USER", "anna")
    assert who() == "anna"
    login[0] = str(pwd.getpwnam("daemon").pw_uid)
    assert who() == "daemon"
    monkeypatch.setenv("PDLAUNCH_BY", "assistant")
    assert who() == "assistant"


@pytest.mark.parametrize("text", ["", "4294967295", "no number"])
def test_a_process_without_login(login: list[str], monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    login[0] = text
    monkeypatch.setattr(os, "geteuid", lambda: 123456789)
    assert who() == "uid 123456789"


def test_a_name_is_one_printable_line(login: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDLAUNCH_BY", " an\x1b[31mna\n ")
    assert who() == "an[31mna"
    monkeypatch.setenv("PDLAUNCH_BY", "\n")
    monkeypatch.setenv("SUDO_USER", "anna")
    assert who() == "anna"
