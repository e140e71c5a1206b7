from __future__ import annotations

import os
from pathlib import Path

import pytest

from launcher.backends.systemd.systemctl import Systemctl, manager
from launcher.errors import InputError, PdlaunchError


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemctl that prints how it was called."""
    path = tmp_path / "bin/systemctl"
    path.parent.mkdir()
    path.write_text('#!/bin/bash\necho "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def test_root_drives_the_system_and_others_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert (manager().user, manager().units) == (False, Path("/etc/systemd/system"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/anna/.config")
    assert (manager().user, manager().units) == (True, Path("/home/anna/.config/systemd/user"))
    assert (Systemctl(user=False).boot_target, Systemctl(user=True).boot_target) == (
        "multi-user.target",
        "default.target",
    )


def test_it_is_called_without_questions_and_pages(program: Path) -> None:
    assert Systemctl(user=False)("stop", "a.service").split() == [
        "--no-ask-password",
        "--no-pager",
        "stop",
        "a.service",
    ]
    assert Systemctl(user=True)("stop").split()[0] == "--user"


def test_a_refusal_is_told_in_its_own_words(program: Path) -> None:
    program.write_text('#!/bin/bash\necho "Failed to start x.service: Access denied" >&2\nexit 4\n')
    with pytest.raises(PdlaunchError) as refused:
        Systemctl(user=False)("start", "x.service")
    assert refused.value.message.endswith("start x.service` failed: Failed to start x.service: Access denied")
    assert refused.value.hint == "run the same as root"
    assert Systemctl(user=False)("start", "x.service", refused=(4,)) == ""

    program.write_text('#!/bin/bash\necho "Job for x.service failed." >&2\nexit 1\n')
    with pytest.raises(PdlaunchError) as failed:
        Systemctl(user=True)("start", "x.service")
    assert failed.value.hint == "journalctl --user -e -u x.service"


def test_all_units_are_shown_in_one_call(program: Path) -> None:
    program.write_text("#!/bin/bash\nprintf 'Id=a.service\\nMainPID=1\\n\\nId=b.service\\nMainPID=2\\nEnv=X=1\\n'\n")
    found = Systemctl(user=False).show(["a.service", "b.service"], ["MainPID"])
    assert found == {
        "a.service": {"Id": "a.service", "MainPID": "1"},
        "b.service": {"Id": "b.service", "MainPID": "2", "Env": "X=1"},
    }
    assert Systemctl(user=False).show([], ["MainPID"]) == {}


def test_a_users_manager_that_cannot_be_reached_is_told_with_the_way_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with pytest.raises(InputError, match="XDG_RUNTIME_DIR is not set, as after su") as unset:
        Systemctl(user=True).require()
    assert unset.value.hint is not None
    assert f"export XDG_RUNTIME_DIR=/run/user/{os.geteuid()}" in unset.value.hint
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(InputError, match="your own systemd does not run"):
        Systemctl(user=True).require()
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd/private").touch()
    assert Systemctl(user=True).reachable


def test_no_systemctl_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PdlaunchError, match="there is no systemctl here"):
        Systemctl(user=False)("daemon-reload")
