"""What a plan names as changes: a hot edit of the source and what is done around the services among them."""

from __future__ import annotations

from pathlib import Path

from launcher.engines.manifest import manifest
from launcher.operations.planned_changes import Source, planned_changes
from launcher.plan import Plan
from launcher.profile import Watch

from ..store.making import a_layout, a_plan, a_service


def running(snapshot: str) -> Plan:
    plan = a_plan(a_service("decode-0"))
    return plan.model_copy(update={"engine": plan.engine.model_copy(update={"snapshot": snapshot})})


def test_an_edited_file_is_named(tmp_path: Path) -> None:
    place, tree = a_layout(tmp_path), tmp_path / "fork"
    tree.mkdir()
    (tree / "a.py").write_text("1\n")
    (tree / "b.py").write_text("1\n")
    old = manifest({"pkg": tree})
    place.engines.mkdir(parents=True)
    (place.engines / f"{old.digest}.json").write_text(old.to_json())
    (tree / "b.py").write_text("2\n")
    new = manifest({"pkg": tree})
    found = planned_changes(running(old.digest), running(new.digest), Source(new, {"pkg": tree}), place)
    assert [change.subject for change in found] == ["source pkg/b.py"]
    assert planned_changes(running(old.digest), running(old.digest), None, place) == ()


def test_of_a_source_that_was_never_here_only_that_it_is_another_is_known(tmp_path: Path) -> None:
    (change,) = planned_changes(running("0" * 32), running("1" * 32), None, a_layout(tmp_path))
    assert (change.subject, change.values) == ("source", ("0" * 12, "1" * 12))


def test_what_is_done_on_a_hang_is_a_change(tmp_path: Path) -> None:
    before = running("0" * 32)
    after = before.model_copy(update={"watch": Watch(on_hang="restart")})
    (change,) = planned_changes(before, after, None, a_layout(tmp_path))
    assert str(change) == "watch.on_hang  collect -> restart"
