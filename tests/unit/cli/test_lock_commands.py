"""`lock` and `name` as they are typed: exit code, stdout, stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launcher.cli.app import run
from launcher.operations.starting import start_of
from launcher.store import Store, layout

PROFILE = """\
name: agg
engine: {kind: simulator, env: {NCCL_DEBUG: INFO}}
aggregated: {port: 12000, nccl_port: 12001}
"""


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("agg.yaml")
    path.write_text(PROFILE)
    return path


@pytest.fixture
def store(profile: Path) -> Store:
    """Two generations, of which the second is current."""
    found = Store(layout("agg"))
    start_of(profile).seal(found, "anna", None)
    profile.write_text(PROFILE.replace("INFO", "WARN"))
    start_of(profile).seal(found, "anna", None)
    found.set_current(2, by="anna")
    return found


def typed(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    code = run(line.split())
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_profile_is_locked_and_compared(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = typed(capsys, "lock agg.yaml --dry-run")
    digest = out.split()[3]
    assert (code, out, err) == (0, f"would write  agg.lock.yaml  {digest}  1 service, 0 packages\n", "")
    assert typed(capsys, "lock agg.yaml")[:2] == (0, f"wrote  agg.lock.yaml  {digest}  1 service, 0 packages\n")
    assert typed(capsys, "lock agg.yaml")[1].startswith("unchanged  agg.lock.yaml")
    assert typed(capsys, "lock agg.yaml --check") == (0, "equal  agg.lock.yaml\n", "")
    profile.write_text(PROFILE.replace("INFO", "WARN"))
    assert typed(capsys, "lock agg.yaml --check") == (
        3,
        "aggregated.env NCCL_DEBUG  INFO -> WARN\n",
        "hint: pdlaunch lock agg.yaml writes the lock anew\n",
    )
    code, out, _ = typed(capsys, "lock agg.yaml --check --json")
    data = json.loads(out)
    assert (code, data["equal"], data["complete"], data["others"]) == (3, False, True, [])
    assert [change["name"] for change in data["changes"]] == ["NCCL_DEBUG"]
    code, out, _ = typed(capsys, "lock agg.yaml --json")
    assert (code, json.loads(out)["result"], json.loads(out)["path"]) == (0, "wrote", "agg.lock.yaml")


def test_an_edited_lock_stops_a_start(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed(capsys, "lock agg.yaml")
    path = Path("agg.lock.yaml")
    path.write_text(path.read_text().replace("NCCL_DEBUG: INFO", "NCCL_DEBUG: WARN"))
    code, out, err = typed(capsys, "up agg.lock.yaml")
    assert (code, out) == (2, "")
    assert err.startswith("error: agg.lock.yaml: services.aggregated-0 was edited: its digest is ")
    assert err.endswith("hint: write it anew: pdlaunch lock PROFILE; or take back the one in git\n")
    assert not layout("agg").state.exists()


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("lock agg.yaml --as noon", "--as is for what runs, not for a profile"),
        ("lock agg.yaml --full-hash", "--full-hash is for what runs, not for a profile"),
        ("lock agg.yaml -d agg", "--deployment is for what runs, not for a profile"),
        ("lock --check", "--check compares a profile with its lock"),
        ("lock --full-hash", "the model simulated-model is not a folder or file on this machine"),
        ("name x 7", "agg has no generation 7: there are 1 to 2"),
        ("name 5", "5 is a generation's number, so it cannot be a name"),
        ("name x --delete", "no generation of agg is called 'x'; there are none"),
        ("name x 1 --delete", "--delete takes a name away and needs no generation"),
    ],
)
def test_what_cannot_be_done_is_one_error(
    store: Store, capsys: pytest.CaptureFixture[str], line: str, error: str
) -> None:
    before = store.journal.path.read_bytes()
    code, out, err = typed(capsys, line)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {error}")
    assert store.journal.path.read_bytes() == before


def test_the_lock_of_what_is_current_is_printed(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = typed(capsys, "lock")
    assert (code, out, err) == (0, (store.generation(2).path / "lock.yaml").read_text(), "")
    code, out, _ = typed(capsys, "lock -d agg --json")
    assert (code, json.loads(out)["lock"]["services"]["aggregated-0"]["env"]["NCCL_DEBUG"]) == (0, "WARN")


def test_generations_are_named(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed(capsys, "name") == (0, "", "agg has no names; give one: pdlaunch name NAME [GENERATION]\n")
    assert typed(capsys, "lock --as noon --dry-run") == (0, "would name  noon = generation 2 of agg\n", "")
    assert typed(capsys, "lock --as noon -m good") == (0, "named  noon = generation 2 of agg\n", "")
    assert typed(capsys, "name noon") == (0, "unchanged  noon is generation 2 of agg\n", "")
    assert typed(capsys, "name noon 1") == (
        2,
        "",
        "error: generation 2 of agg is called 'noon' already\n"
        "hint: pdlaunch name noon 1 -d agg --move takes it away from there\n",
    )
    assert typed(capsys, "name noon 1 --move") == (0, "named  noon = generation 1 of agg, no longer 2\n", "")
    assert typed(capsys, "name late noon") == (0, "named  late = generation 1 of agg\n", "")
    assert typed(capsys, "name --list") == (0, "name  gen\nlate  1\nnoon  1\n", "")
    assert json.loads(typed(capsys, "name --list --json")[1])["names"][1]["generation"] == 1
    assert typed(capsys, "name late --delete --dry-run")[1] == "would delete  late, which was generation 1\n"
    assert typed(capsys, "name late --delete") == (0, "deleted  late, which was generation 1\n", "")
    assert typed(capsys, "name") == (0, "name  gen\nnoon  1\n", "")
