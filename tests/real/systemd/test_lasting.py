"""The units that no generation owns: accepted by systemd's own parser, whatever the folders are called."""

from __future__ import annotations

import datetime as dt
import subprocess
from pathlib import Path

import pytest

from launcher.render.systemd import Command
from launcher.render.systemd.lasting import Return, boot_text, boot_unit, brought_back, return_timer, return_unit

pytestmark = pytest.mark.real

DUE = dt.datetime(2026, 12, 1, 21, 31, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def way(tmp_path: Path, folder: str, command: Command | None) -> Return:
    state = tmp_path / folder
    state.mkdir(exist_ok=True)
    return Return("one", 7, state / "generations/6", state, DUE, command)


@pytest.mark.parametrize("folder", ["state", "50% of  it's $HOME"])
def test_systemd_finds_nothing_to_say(tmp_path: Path, folder: str) -> None:
    found = way(tmp_path, folder, None)
    texts = {boot_unit("one"): boot_text("one", found.former, "multi-user.target"), **found.units()}
    assert texts.keys() == {boot_unit("one"), return_unit("one"), return_timer("one")}
    units = tmp_path / "units"
    units.mkdir()
    for name, text in texts.items():
        (units / name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=one", *(str(units / name) for name in texts)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert brought_back(texts[boot_unit("one")]) == 6
    assert "OnCalendar=2026-12-01 20:31:00 UTC\n" in texts[return_timer("one")]


@pytest.mark.parametrize(
    ("current", "pending", "status", "expected"),
    [
        ("7", False, 0, ["confirm --expired -d one anna"]),  # pdlaunch did it
        ("6", False, 1, ["confirm --expired -d one anna"]),  # it was left meanwhile: nothing to go back from
        ("7", False, 4, ["confirm --expired -d one anna"]),  # busy: again in a moment
        ("7", False, 1, ["confirm --expired -d one anna", "activate"]),
        ("6", True, 1, ["confirm --expired -d one anna", "activate"]),  # the change was cut short
        ("7", False, None, ["activate"]),  # uninstalled
    ],
)
def test_the_script_goes_back_with_pdlaunch_or_without(
    tmp_path: Path, current: str, pending: bool, status: int | None, expected: list[str]
) -> None:
    program = tmp_path / "it's pdlaunch"
    found = way(tmp_path, "it's state", Command(program, {"PDLAUNCH_STATE_DIR": "anna"}))
    note, calls = found.state / "unconfirmed.json", tmp_path / "calls"
    note.touch()
    (found.state / "current").write_text(f"{current}\n")
    if pending:
        (found.state / "pending.json").touch()
    if status is not None:
        done = f'rm "{note}"' if status == 0 else ":"
        program.write_text(f'#!/bin/bash\necho "$@ $PDLAUNCH_STATE_DIR" >> {calls}\n{done}\nexit {status}\n')
        program.chmod(0o755)
    found.former.mkdir(parents=True)
    (found.former / "activate").write_text(f"echo activate >> {calls}\n")
    found.script.write_text(found.script_text())
    ended = subprocess.run(["/bin/bash", str(found.script)], capture_output=True, check=False)
    assert calls.read_text().splitlines() == expected
    assert ended.returncode == (4 if status == 4 else 0)
    assert note.exists() == (expected[-1] != "activate" and status != 0)


def test_without_a_note_nothing_is_called(tmp_path: Path) -> None:
    found = way(tmp_path, "state", Command(Path("/bin/false"), {}))
    found.script.write_text(found.script_text())
    assert subprocess.run(["/bin/bash", str(found.script)], capture_output=True, check=False).returncode == 0
