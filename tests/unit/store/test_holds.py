from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.errors import BusyError, PdlaunchError
from launcher.store import Hold, claim, holders, release, resources
from launcher.store.process import Process, boot_id

from .making import a_layout, a_plan, a_service

NOBODY = Process(pid=2**22, started=1, boot=boot_id())


def alive(hold: Hold) -> bool:
    return True


def dead(hold: Hold) -> bool:
    return False


def as_if_by(folder: Path, resource: str, **changes: object) -> None:
    """Rewrite a hold as another command's, which has ended."""
    path = folder / "holds" / resource
    document = {**json.loads(path.read_text()), "process": NOBODY.model_dump(), **changes}
    path.write_text(json.dumps(document))


def test_a_plan_needs_its_name_its_cards_and_all_its_ports() -> None:
    service = a_service("decode-0").model_copy(update={"gpus": (5, 4), "reserved": (31007,)})
    plan = a_plan(service, a_service("router").model_copy(update={"ports": {"http": 8000, "metrics": 31020}}))
    assert resources(plan) == (
        "name-tiny",
        "gpu-4",
        "gpu-5",
        "port-8000",
        "port-31000",
        "port-31007",
        "port-31020",
    )


def test_what_is_claimed_is_seen_by_all_and_given_back(tmp_path: Path) -> None:
    mine = a_layout(tmp_path)
    taken = claim(mine, ["gpu-1", "gpu-0", "port-31000"], by="anna", why="up", is_alive=dead)
    assert [hold.resource for hold in taken] == ["gpu-0", "gpu-1", "port-31000"]
    assert holders(["gpu-0", "gpu-7"]) == {"gpu-0": taken[0]}
    assert holders() == {hold.resource: hold for hold in taken}
    assert (tmp_path / "holds").stat().st_mode & 0o7777 == 0o1777
    assert release(mine, keep=["gpu-1"]) == ("gpu-0", "port-31000")
    assert list(holders()) == ["gpu-1"]
    assert release(mine) == ("gpu-1",)
    assert release(mine) == ()


def test_a_hold_of_a_running_deployment_is_respected_and_nothing_is_taken(tmp_path: Path) -> None:
    claim(a_layout(tmp_path, "agg"), ["gpu-0", "gpu-1", "port-8000"], by="bob", why="A/B", is_alive=dead)
    for name in ("gpu-0", "gpu-1", "port-8000"):
        as_if_by(tmp_path, name, since="2026-12-01T20:31:00+00:00")
    with pytest.raises(BusyError) as caught:
        claim(a_layout(tmp_path), ["gpu-1", "gpu-2", "gpu-0"], by="anna", is_alive=alive)
    when = dt.datetime.fromisoformat("2026-12-01T20:31:00+00:00").astimezone()
    assert caught.value.message.startswith("busy: gpu-0, gpu-1 held by agg (bob, since ")
    assert when.strftime("%H:%M") in caught.value.message
    assert caught.value.message.endswith(": A/B)")
    assert caught.value.hint == "free them with `pdlaunch down -d agg`, or switch: pdlaunch up --replace"
    assert sorted(holders()) == ["gpu-0", "gpu-1", "port-8000"]


def test_a_holder_with_another_state_folder_is_named_with_it(tmp_path: Path) -> None:
    claim(a_layout(tmp_path / "bob"), ["gpu-0"], by="bob", is_alive=dead)
    with pytest.raises(BusyError) as caught:
        claim(a_layout(tmp_path), ["gpu-0"], by="anna", is_alive=alive)
    assert f"PDLAUNCH_STATE_DIR={tmp_path}/bob/state pdlaunch down -d tiny" in str(caught.value.hint)


def test_a_hold_whose_command_still_runs_counts_without_asking(tmp_path: Path) -> None:
    claim(a_layout(tmp_path, "agg"), ["gpu-0"], by="bob", is_alive=dead)
    with pytest.raises(BusyError):
        claim(a_layout(tmp_path), ["gpu-0"], by="anna", is_alive=dead)


def test_a_hold_of_a_deployment_that_ended_is_taken_over(tmp_path: Path) -> None:
    claim(a_layout(tmp_path, "agg"), ["gpu-0"], by="bob", is_alive=dead)
    as_if_by(tmp_path, "gpu-0")
    claim(a_layout(tmp_path), ["gpu-0"], by="anna", is_alive=dead)
    assert holders()["gpu-0"].deployment == "tiny"


def test_a_hold_from_before_the_boot_is_void(tmp_path: Path) -> None:
    claim(a_layout(tmp_path, "agg"), ["gpu-0"], by="bob", is_alive=dead)
    as_if_by(tmp_path, "gpu-0", process=NOBODY.model_copy(update={"boot": "earlier"}).model_dump())
    assert holders() == {}
    claim(a_layout(tmp_path), ["gpu-0"], by="anna", is_alive=alive)
    assert holders()["gpu-0"].by == "anna"


def test_its_own_hold_is_renewed_and_keeps_its_date(tmp_path: Path) -> None:
    mine = a_layout(tmp_path)
    (before,) = claim(mine, ["gpu-0"], by="bob", is_alive=dead)
    as_if_by(tmp_path, "gpu-0")
    (after,) = claim(mine, ["gpu-0"], by="anna", why="again", is_alive=alive)
    assert (after.since, after.by, after.why) == (before.since, "anna", "again")
    assert after.process.alive()


def test_a_file_that_is_no_hold_stops_only_who_wants_it(tmp_path: Path) -> None:
    mine = a_layout(tmp_path)
    claim(mine, ["gpu-0"], by="anna", is_alive=dead)
    (tmp_path / "holds" / "gpu-1").write_text('{"deploy')
    assert list(holders()) == ["gpu-0"]
    with pytest.raises(PdlaunchError, match="nobody can tell who has gpu-1") as caught:
        claim(mine, ["gpu-1", "gpu-2"], by="anna", is_alive=dead)
    assert f"rm {tmp_path}/holds/gpu-1" in str(caught.value.hint)
    assert release(mine) == ("gpu-0",)


def test_a_name_that_would_leave_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no names of resources"):
        claim(a_layout(tmp_path), ["gpu-0", "../etc"], by="anna", is_alive=dead)


def test_leftovers_of_a_killed_command_are_swept(tmp_path: Path) -> None:
    mine = a_layout(tmp_path)
    claim(mine, ["gpu-0"], by="anna", is_alive=dead)
    leftover = tmp_path / "holds" / "gpu-9.4711.tmp"
    leftover.write_text("half")
    claim(mine, ["gpu-0"], by="anna", is_alive=dead)
    assert not leftover.exists()
    assert list(holders()) == ["gpu-0"]


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "trap")
    monkeypatch.setenv("PDLAUNCH_HOLDS_DIR", str(tmp_path / "link"))
    with pytest.raises(PdlaunchError, match="is no folder"):
        claim(a_layout(tmp_path), ["gpu-0"], by="anna", is_alive=dead)
    assert list((tmp_path / "trap").iterdir()) == []


@pytest.fixture
def open_to_all(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that other users reach; pytest's own are private."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("PDLAUNCH_HOLDS_DIR", f"{folder}/holds")
        yield Path(folder)


AS_NOBODY = """
import os, sys
from pathlib import Path
from launcher.errors import PdlaunchError
from launcher.render.layout import Layout
from launcher.store import claim, release
os.setgid(65534); os.setuid(65534)
where = Path(sys.argv[1])
layout = Layout(deployment="other", state=where / "other", cache=where, run=where)
try:
    claim(layout, sys.argv[2:], by="nobody", is_alive=lambda hold: False)
except PdlaunchError as error:
    sys.exit(f"{error.exit_code} {error.message} | {error.hint}")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_sees_holds_and_cannot_remove_stale_ones(open_to_all: Path) -> None:
    claim(a_layout(open_to_all), ["gpu-0"], by="anna", is_alive=dead)
    as_if_by(open_to_all, "gpu-0")

    def as_nobody(*names: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", AS_NOBODY, str(open_to_all), *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = as_nobody("gpu-0", "gpu-1")
    assert "gpu-0 is free, but the note of its last holder belongs to uid 0" in refused.stderr
    assert f"sudo rm {open_to_all}/holds/gpu-0" in refused.stderr
    assert list(holders()) == ["gpu-0"]
    assert as_nobody("gpu-1").stderr == ""
    assert holders()["gpu-1"].deployment == "other"
    open_to_all.chmod(0o700)
    assert f"{open_to_all}/holds belongs to root (uid 0), and this is nobody" in as_nobody("gpu-2").stderr


def test_the_process_that_took_a_hold_is_told_from_a_later_one_with_its_number() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
    process = Process(pid=child.pid, started=started, boot=boot_id())
    assert process.alive()
    assert not process.model_copy(update={"started": started - 1}).alive()
    assert not process.model_copy(update={"boot": "earlier"}).alive()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert not process.alive()
