"""A user's own systemd: the same deployment without root, from `up` over a restart of the manager to `down`."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from ...deployments import PDLAUNCH, Deployment, aggregated, until
from .box import Box

pytestmark = pytest.mark.real

USER, UID = "anna", 4242
"""Not one of the system's own users: those may not read what their services log."""
MANAGER = f"user@{UID}.service"
"""As logind calls it: by that name and slice the journal knows which of the user's units speaks."""
UNIT = "pd-own-aggregated-0.service"


class User:
    """Somebody without privileges in a box, with a manager of their own."""

    def __init__(self, box: Box, home: Path) -> None:
        self.box, self.home, self.uid = box, home, UID
        self.run_folder = f"/run/user/{self.uid}"
        box.run("useradd", "--uid", str(UID), "--no-create-home", "--home-dir", home, USER)  # in the box only
        (box.folder / "keep/units" / MANAGER).write_text(
            "[Service]\n"
            f"User={USER}\nSlice=user-{UID}.slice\nDelegate=yes\nRuntimeDirectory=user/{self.uid}\nRuntimeDirectoryMode=0700\n"
            f"Environment=HOME={home} XDG_RUNTIME_DIR={self.run_folder} PATH={os.environ['PATH']}\n"
            "ExecStart=/lib/systemd/systemd --user\nKillMode=mixed\n"
        )
        box.systemctl("daemon-reload")

    def environment(self) -> list[str]:
        """What a login gives, and folders of pdlaunch's that are the user's own."""
        folders = {f"PDLAUNCH_{name}_DIR": self.home / name.lower() for name in ("STATE", "CACHE", "DATA")}
        told = {
            "HOME": self.home,
            "XDG_RUNTIME_DIR": self.run_folder,
            "PDLAUNCH_RUN_DIR": f"{self.run_folder}/pdlaunch",
        }
        return [
            f"{name}={value}" for name, value in {**folders, **told, "PDLAUNCH_HOLDS_DIR": self.home / "holds"}.items()
        ]

    def run(self, *words: str | Path, check: bool = True) -> CompletedProcess[str]:
        """One command as that user."""
        become = ("setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--")
        return self.box.run(*become, "env", "-C", self.home, *self.environment(), *words, check=check)

    def state(self) -> str:
        return str(json.loads(self.run(PDLAUNCH, "status", "--json", check=False).stdout)["state"])

    def systemctl(self, *words: str, check: bool = True) -> str:
        return self.run("systemctl", "--user", "--no-pager", *words, check=check).stdout.strip()


@pytest.fixture
def user(box: Box) -> Iterator[User]:
    home = Path(tempfile.mkdtemp(prefix="home-", dir="/tmp"))
    made = User(box, home)
    os.chown(home, made.uid, made.uid)
    for file in (Path(sys.executable).resolve(), Path(PDLAUNCH).resolve(), Path(__file__)):
        for folder in [parent for parent in file.parents if not parent.stat().st_mode & 0o001]:
            box.run("chmod", "o+x", folder)  # in the box only: there the machine's folders are covered by its own
    made.run(sys.executable, "-c", "import launcher")
    yield made
    box.systemctl("stop", MANAGER, check=False)
    shutil.rmtree(home)


@pytest.fixture
def own(user: User, tmp_path: Path, free_port: Callable[[], int]) -> Deployment:
    made = aggregated(tmp_path, free_port, "own")
    shutil.copy(made.profile, user.home / "own.yaml")
    return made


def test_up_and_down_without_root(user: User, own: Deployment) -> None:
    profile = user.home / "own.yaml"
    refused = user.run(PDLAUNCH, "up", profile, check=False)
    assert refused.returncode == 2
    assert f"error: your own systemd does not run: nothing answers in {user.run_folder}" in refused.stderr

    user.box.systemctl("start", MANAGER)
    until(lambda: user.systemctl("is-active", "basic.target", check=False) == "active", "the manager runs")
    user.run(PDLAUNCH, "up", profile)
    assert user.state() == "ok"
    assert user.systemctl("is-active", UNIT) == "active"
    assert user.systemctl("is-enabled", "pd-own-boot.service") == "enabled"
    assert user.run("stat", "-c", "%U", user.home / ".config/systemd/user" / UNIT).stdout.strip() == USER
    assert "fired up and ready to roll" in user.run(PDLAUNCH, "logs", "-n", "1000").stdout

    user.box.systemctl("restart", MANAGER)
    until(lambda: user.state() == "ok", "the generation comes back with the manager")

    user.run(PDLAUNCH, "down")
    assert user.state() == "stopped"
    assert user.systemctl("list-units", "--plain", "--no-legend", "--state=active", "pd-*") == ""
    user.box.systemctl("restart", MANAGER)
    until(lambda: user.systemctl("is-active", "basic.target", check=False) == "active", "the manager runs again")
    assert user.systemctl("list-units", "--plain", "--no-legend", "--state=active", "pd-*") == ""
