"""From a bundle's units to installed ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.render.systemd import Command, placed, templates
from launcher.render.systemd.placing import binding

UNITS = {
    "pd-d-x.service": "@system@User=a\n@user@# no user\nExecStart=:/g/generations/@NUMBER@/x.sh\n@numa 0 1@\nEnd=1\n",
    "pd-d-watch.service": "@ENVIRONMENT@\nExecStart=:@PDLAUNCH@ watch\n",
}


def test_for_the_system() -> None:
    found = placed(UNITS, 7, "system", nodes={0: 1, 1: 1}, command=None)
    assert found == {
        "pd-d-x.service": "User=a\nExecStart=:/g/generations/7/x.sh\n"
        "NUMAPolicy=preferred\nNUMAMask=1\nCPUAffinity=numa\nEnd=1\n"
    }


def test_for_a_user_with_pdlaunch() -> None:
    command = Command(Path("/my home/pdlaunch"), {"PDLAUNCH_STATE_DIR": "/s 50%", "PDLAUNCH_RUN_DIR": "/r"})
    found = placed(UNITS, 7, "user", nodes={}, command=command)
    assert found["pd-d-x.service"] == "# no user\nExecStart=:/g/generations/7/x.sh\nEnd=1\n"
    assert found["pd-d-watch.service"] == (
        "Environment=PDLAUNCH_RUN_DIR=/r\n"
        'Environment="PDLAUNCH_STATE_DIR=/s 50%%"\n'
        'ExecStart=:"/my home/pdlaunch" watch\n'
    )


@pytest.mark.parametrize(
    ("cards", "nodes"),
    [((0, 1), {}), ((0, 1), {0: 0}), ((0, 4), {0: 0, 4: 1}), ((), {0: 0})],
    ids=["nothing known", "one unknown", "two nodes", "no card"],
)
def test_nothing_is_bound_where_it_could_be_wrong(cards: tuple[int, ...], nodes: dict[int, int]) -> None:
    assert binding(cards, nodes) == ""


def test_a_generation_s_units_are_read_without_its_other_files(tmp_path: Path) -> None:
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd/pd-d.target.in").write_text("a")
    (tmp_path / "systemd/ready.py").write_text("b")
    assert templates(tmp_path) == {"pd-d.target": "a"}
    assert templates(tmp_path / "nowhere") == {}
