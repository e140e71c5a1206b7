"""What the manager hears: over a path and over an abstract name, and nothing where there is no manager."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from launcher.operations.notifying import Notifier


@pytest.mark.parametrize("abstract", [False, True])
def test_the_manager_hears_that_we_are_ready_and_alive(
    abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"pdlaunch-test-{tmp_path.name}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if abstract else name)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if abstract else name)
        notify = Notifier()
        notify(READY=1)
        notify.status("generation 1 hung:\ndecode-0")
        assert manager.recv(4096) == b"READY=1"
        assert manager.recv(4096) == b"WATCHDOG=1\nSTATUS=generation 1 hung: decode-0"
        notify.close()


def test_a_manager_that_is_gone_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    notify = Notifier()
    notify.status("ok")
    notify.close()


def test_without_a_manager_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    Notifier().status("ok")
