from __future__ import annotations

from pathlib import Path

import pytest

from launcher.backends.systemd import boot
from launcher.backends.systemd.placing import installed, own, place
from launcher.backends.systemd.systemctl import Systemctl
from launcher.render import Layout

LAYOUT = Layout(deployment="d", state=Path("/state/d"), cache=Path("/cache"), run=Path("/run/d"))
TEXT = "[Unit]\nX-Deployment=d\n"


def test_units_are_put_replaced_and_removed_and_others_left_alone(tmp_path: Path) -> None:
    other, mine = tmp_path / "pd-d-2-router.service", tmp_path / "pd-d-boot.service"
    other.write_text("[Unit]\nX-Deployment=d-2\n")
    mine.write_text(TEXT)
    first = {"pd-d-decode-0.service": TEXT, "pd-d-decode-1.service": TEXT, "pd-d-ready.service": TEXT}
    assert place(tmp_path, first | {"pd-d.target": TEXT}, LAYOUT)
    assert installed(tmp_path, LAYOUT) == ("decode-0", "decode-1")

    second = {"pd-d-decode-0.service": TEXT + "# new\n", "pd-d.target": TEXT}
    assert place(tmp_path, second, LAYOUT)
    assert not place(tmp_path, second, LAYOUT)
    assert {path.name: path.read_text() for path in own(tmp_path, LAYOUT)} == second
    assert (other.exists(), mine.exists()) == (True, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*second, other.name, mine.name])


class TestBoot:
    @pytest.fixture
    def systemctl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        found = Systemctl(user=True)
        found.units.mkdir(parents=True)
        return found

    def test_one_file_decides(self, systemctl: Systemctl) -> None:
        assert boot.at_boot(systemctl, LAYOUT) is None
        boot.remember(systemctl, LAYOUT, LAYOUT.generation(7))
        boot.remember(systemctl, LAYOUT, LAYOUT.generation(8))
        assert boot.at_boot(systemctl, LAYOUT) == 8
        link = systemctl.units / "default.target.wants/pd-d-boot.service"
        assert link.readlink() == systemctl.units / "pd-d-boot.service"
        assert "ExecStart=:/bin/bash /state/d/generations/8/activate --boot" in link.read_text()

        boot.forget(systemctl, LAYOUT)
        boot.forget(systemctl, LAYOUT)
        assert boot.at_boot(systemctl, LAYOUT) is None
        assert [path for path in systemctl.units.rglob("*") if not path.is_dir()] == []

    def test_one_that_somebody_wrote_or_did_not_enable_brings_back_nothing(self, systemctl: Systemctl) -> None:
        (systemctl.units / "pd-d-boot.service").write_text("[Service]\nExecStart=/bin/true\n")
        assert boot.at_boot(systemctl, LAYOUT) is None
        (systemctl.units / "default.target.wants").mkdir()
        (systemctl.units / "default.target.wants/pd-d-boot.service").symlink_to("../pd-d-boot.service")
        assert boot.at_boot(systemctl, LAYOUT) is None
