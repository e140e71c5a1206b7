"""The set-up of a machine in deploy/systemd, carried out by systemd's own tools below a folder of the test's."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

DEPLOY = Path(__file__).parents[3] / "deploy/systemd"


def test_the_user_the_group_and_the_folders_are_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    for kind in ("sysusers", "tmpfiles"):
        folder = tmp_path / f"usr/lib/{kind}.d"
        folder.mkdir(parents=True)
        shutil.copy(DEPLOY / f"pdlaunch.{kind}", folder / "pdlaunch.conf")
    for command in (["systemd-sysusers", f"--root={tmp_path}"], ["systemd-tmpfiles", f"--root={tmp_path}", "--create"]):
        done = subprocess.run([*command, "pdlaunch.conf"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    users = dict(line.split(":", 1) for line in (tmp_path / "etc/passwd").read_text().splitlines())
    groups = dict(line.split(":", 1) for line in (tmp_path / "etc/group").read_text().splitlines())
    assert users["sglang"].split(":")[4:] == ["/var/lib/sglang", "/usr/sbin/nologin"]
    assert {"sglang", "pdlaunch"} == groups.keys()
    modes = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes["var/lib/pdlaunch"] == modes["var/cache/pdlaunch"] == 0o2775
    assert (modes["var/lib/sglang"], modes["etc/pdlaunch/secrets"]) == (0o750, 0o700)
    owner = (tmp_path / "var/lib/pdlaunch").stat()
    assert (owner.st_uid, owner.st_gid) == (0, int(groups["pdlaunch"].split(":")[1]))
