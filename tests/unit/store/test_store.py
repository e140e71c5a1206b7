from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from launcher import __version__
from launcher.engines.snapshot import snapshot
from launcher.errors import InputError, PdlaunchError
from launcher.operations.timeline import spans
from launcher.store import Store, plan_digest, service_digests
from launcher.store.pointing import ACTIVATED
from launcher.store.who import name_of

from .making import BUNDLE, PROFILE, a_generation, a_layout, a_plan, a_store


def test_a_generation_holds_what_was_given(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    written = store.commit(PROFILE, a_plan(), BUNDLE, snapshot_digest=None, by="anna", why="first", source="tiny.yaml")
    read = Store(a_layout(tmp_path)).generation(1)
    assert read.number == written.number == 1
    assert read.profile == PROFILE
    assert read.plan == a_plan()
    assert (read.about.by, read.about.why, read.about.source) == ("anna", "first", "tiny.yaml")
    assert read.about.pdlaunch == __version__
    assert read.about.written.tzinfo is not None
    assert read.seal.services == service_digests(a_plan(), None)
    assert read.seal.digest == plan_digest(a_plan(), None)
    assert (read.path / "decode-0.sh").read_text() == BUNDLE.files["decode-0.sh"].text
    assert BUNDLE.digests().items() <= read.seal.files.items()
    assert store.verify(1) == []


def test_a_generation_is_read_only(tmp_path: Path) -> None:
    folder = a_store(tmp_path, generations=1).layout.generation(1)
    modes = {str(path.relative_to(folder)): path.stat().st_mode & 0o7777 for path in folder.rglob("*")}
    assert modes == {
        "about.json": 0o444,
        "decode-0.sh": 0o555,
        "manifest.json": 0o444,
        "plan.json": 0o444,
        "profile.yaml": 0o444,
        "units": 0o555,
        "units/tiny.service": 0o444,
    }
    assert folder.stat().st_mode & 0o7777 == 0o555


def test_numbers_go_up_and_are_listed_as_numbers(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=11)
    assert store.numbers() == tuple(range(1, 12))
    assert [generation.number for generation in store.generations()] == list(range(1, 12))
    assert store.next_number() == 12


def test_the_engine_is_a_relative_link_to_a_snapshot_that_generations_share(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    source = tmp_path / "fork" / "sglang"
    source.mkdir(parents=True)
    (source / "version.py").write_text("x = 1\n")
    taken = snapshot({"sglang": source}, store.layout.engines)
    for chunk in (4096, 8192):
        generation = a_generation(store, chunk=chunk, snapshot=taken.digest)
        link = generation.path / "engine"
        assert str(link.readlink()) == f"../../engine/{taken.digest}"
        assert (link / "sglang" / "version.py").read_text() == "x = 1\n"
        assert store.verify(generation.number) == []
    # Moved as a whole, the state still works: the link is relative.
    store.layout.state.rename(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere/generations/2/engine/sglang/version.py").exists()


def test_a_snapshot_that_is_not_there_cannot_be_committed(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    with pytest.raises(PdlaunchError, match="no engine snapshot abc"):
        a_generation(store, snapshot="abc")
    assert store.numbers() == ()


def test_the_pointer(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=2)
    assert store.current() is None
    store.set_current(2, by="anna", why="up")
    assert store.current() == 2
    assert (store.layout.state / "current").read_text() == "2\n"
    last = store.journal.events()[-1]
    assert (last.what, last.generation, last.by, last.why) == ("current", 2, "anna", "up")
    with pytest.raises(InputError, match="no generation 3: there are 1 to 2"):
        store.set_current(3, by="anna")
    assert store.current() == 2


def test_a_pointer_that_is_no_number_is_said(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=1)
    (store.layout.state / "current").write_text("noon\n")
    with pytest.raises(PdlaunchError, match="holds no generation's number but 'noon"):
        store.current()


def test_an_operation_is_written_down_before_and_after(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=1)
    begun = store.begin("up", from_generation=1, to_generation=2, by="anna", why="more")
    assert store.pending() == begun
    assert begun.process.alive()
    with pytest.raises(PdlaunchError, match="`up` by anna was not finished"):
        store.begin("down", from_generation=1, to_generation=None, by="bob")
    store.advance("start decode-0")
    under_way = store.pending()
    assert under_way is not None
    assert (under_way.step, under_way.id) == ("start decode-0", begun.id)
    store.finish("done")
    assert store.pending() is None
    last = store.journal.events()[-1]
    assert (last.what, last.by, last.why, last.details["outcome"]) == ("finished", "anna", "more", "done")
    with pytest.raises(PdlaunchError, match="no operation is under way"):
        store.advance("too late")


def test_a_number_that_was_announced_is_not_used_again(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=1)
    store.begin("up", from_generation=1, to_generation=store.next_number(), by="anna")
    store.finish("failed")
    assert store.next_number() == 3


def test_an_edited_pending_file_is_said(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=1)
    store.begin("up", from_generation=1, to_generation=2, by="anna")
    path = store.layout.state / "pending.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "step": 7}))
    with pytest.raises(PdlaunchError, match=r"pending\.json cannot be read \(step: ") as caught:
        store.pending()
    assert caught.value.hint is not None


@pytest.mark.parametrize("name", ["../x", "/x", "plan.json", "engine/x.py", "a/../../x", ""])
def test_a_rendered_file_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    store = a_store(tmp_path)
    bundle = type(BUNDLE)({name: BUNDLE.files["decode-0.sh"]})
    with pytest.raises(ValueError, match="cannot be called"):
        store.commit(PROFILE, a_plan(), bundle, snapshot_digest=None, by="anna")
    assert store.numbers() == ()


def test_a_pointer_that_activate_moved_is_seen_at_once_and_journalled_by_the_next_writer(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=2)
    store.set_current(2, by="anna")
    (store.layout.state / "current.activate").write_text("1\n")
    (store.layout.state / "current.activate").rename(store.layout.state / "current")
    journalled = store.journal.events()
    (*before, seen) = store.events()
    assert tuple(before) == journalled
    me = name_of(os.geteuid())
    assert (seen.what, seen.generation, seen.by, seen.why) == ("current", 1, me, ACTIVATED)
    store.recover(by="bert")
    assert store.journal.events() == store.events() == (*journalled, seen)
    store.recover(by="bert")
    assert store.events() == (*journalled, seen)
    assert [(s.generation, s.ended_by) for s in spans(store.events())] == [(2, "activate"), (1, None)]


def test_a_pointer_that_a_killed_command_moved_is_no_activation(tmp_path: Path) -> None:
    store = a_store(tmp_path, generations=1)
    store.begin("up", from_generation=None, to_generation=1, by="anna")
    (store.layout.state / "current").write_text("1\n")
    (*_, seen) = store.events()
    assert (seen.by, seen.why) == ("anna", "recorded after an interruption")
