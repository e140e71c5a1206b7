"""Locks of profiles: written, compared, started; no server runs here."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

import launcher
from launcher.errors import InputError, PdlaunchError
from launcher.lock import from_yaml, plan_of, read_lock, to_yaml
from launcher.operations import facts, sealing, starting
from launcher.operations.checking import check
from launcher.operations.engine_reading import read_engine
from launcher.operations.locking import compare_profile, lock_path, lock_profile
from launcher.operations.planning import planned
from launcher.operations.starting import start_of
from launcher.profile import is_lock_file
from launcher.store import Store, layout

from ..store.crash import killed_at, points

SETTINGS: dict[str, Any] = {
    "name": "agg",
    "engine": {"kind": "simulator", "args": {"context-length": 8192}, "env": {"NCCL_DEBUG": "INFO"}},
    "aggregated": {"port": 12000, "nccl_port": 12001},
}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return write(tmp_path / "agg.yaml", SETTINGS)


def write(path: Path, settings: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    return path


def changed(profile: Path, old: str, new: str) -> None:
    text = profile.read_text()
    assert old in text
    profile.write_text(text.replace(old, new))


def intent_text(path: Path) -> str:
    return path.read_text().partition("\nabout:")[0]


def test_a_lock_lies_beside_its_profile_and_is_left_alone_while_it_fits(profile: Path) -> None:
    done = lock_profile(profile, why="first")
    assert (done.result, done.path, done.before) == ("wrote", profile.with_name("agg.lock.yaml"), None)
    assert from_yaml(done.path.read_text(), done.path) == done.lock
    assert (done.lock.about.generation, done.lock.about.why, done.lock.about.source) == (None, "first", "agg.yaml")
    assert plan_of(done.lock) == planned(profile).plan
    before = done.path.stat()
    again = lock_profile(profile, why="second")
    assert (again.result, again.lock) == ("unchanged", done.lock)
    assert done.path.stat() == before


@pytest.mark.parametrize("name", ["x.yaml", "x.yml"])
def test_how_the_file_is_called(name: str) -> None:
    assert lock_path(Path("/a") / name) == Path("/a/x.lock.yaml")


def test_dry_run_writes_nothing(profile: Path) -> None:
    assert lock_profile(profile, dry_run=True).result == "would write"
    assert not lock_path(profile).exists()
    lock_profile(profile)
    assert lock_profile(profile, dry_run=True).result == "unchanged"


def test_a_damaged_lock_is_written_anew(profile: Path) -> None:
    lock_profile(profile)
    whole = lock_path(profile).read_text()
    lock_path(profile).write_text(whole[: len(whole) // 2])
    done = lock_profile(profile)
    assert done.result == "wrote"
    assert intent_text(done.path) == whole.partition("\nabout:")[0]


def test_comments_and_order_are_no_difference(profile: Path) -> None:
    lock_profile(profile)
    turned = {key: SETTINGS[key] for key in reversed(SETTINGS)}
    profile.write_text("# a comment\n\n" + yaml.safe_dump(turned, sort_keys=False))
    assert compare_profile(profile).equal
    # The lines moved, so where the values came from is written anew; what starts is the same to the byte.
    before = intent_text(lock_path(profile))
    assert lock_profile(profile).result == "wrote"
    assert intent_text(lock_path(profile)) == before


def test_what_differs_is_listed(profile: Path) -> None:
    lock_profile(profile)
    changed(profile, "INFO", "WARN")
    changed(profile, "8192", "4096")
    found = compare_profile(profile)
    assert not found.equal
    assert [str(change) for change in found.changes] == [
        "aggregated.args context-length  8192 -> 4096",
        "aggregated.env NCCL_DEBUG  INFO -> WARN",
    ]
    assert found.others == ()  # the context length in `ready` follows from the flag


def test_what_has_no_effect_is_told_too(profile: Path) -> None:
    lock_profile(profile)
    write(profile, SETTINGS | {"knobs": {"OURS": {"safe": "1"}}})
    found = compare_profile(profile)
    assert found.changes == ()
    assert [difference.place for difference in found.others] == ["profile"]


def test_other_sections_are_told_by_their_place(profile: Path) -> None:
    lock_profile(profile)
    write(profile, SETTINGS | {"stop": {"drain": "5s"}, "watch": {"on_hang": "restart"}})
    assert [str(difference) for difference in compare_profile(profile).others] == [
        "stop.drain  60.0 -> 5.0",
        "watch.on_hang  collect -> restart",
    ]


def test_comparing_needs_a_lock(profile: Path) -> None:
    with pytest.raises(InputError, match=r"agg\.lock\.yaml: there is no such file") as caught:
        compare_profile(profile)
    assert caught.value.hint == "pdlaunch lock PROFILE writes it"


def test_another_state_folder_gives_the_same_bytes(
    profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_profile(profile)
    first = intent_text(lock_path(profile))
    lock_path(profile).unlink()
    for name in ("STATE", "CACHE", "RUN"):
        monkeypatch.setenv(f"PDLAUNCH_{name}_DIR", str(tmp_path / "another" / name))
    lock_profile(profile)
    assert intent_text(lock_path(profile)) == first
    assert str(tmp_path / "another") not in lock_path(profile).read_text()


def test_a_profile_with_errors_is_not_locked(profile: Path) -> None:
    changed(profile, "context-length", "contxt-length")
    with pytest.raises(InputError) as caught:
        lock_profile(profile)
    assert caught.value.problems
    assert not lock_path(profile).exists()


def test_a_lock_needs_the_engine_and_a_comparison_says_what_it_could_not_see(tmp_path: Path) -> None:
    elsewhere = {"kind": "sglang", "venv": str(tmp_path / "venv"), "version": "0.5.23"}
    settings = SETTINGS | {"engine": elsewhere, "model": "/models/x", "aggregated": {"gpus": 0}}
    profile = write(tmp_path / "gpu.yaml", settings)
    with pytest.raises(InputError, match="the engine is not on this machine"):
        lock_profile(profile)
    write(tmp_path / "agg.yaml", SETTINGS)
    shutil.copy(lock_profile(tmp_path / "agg.yaml").path, lock_path(profile))
    found = compare_profile(profile)
    assert (found.complete, found.changes) == (False, ())
    assert [difference.place for difference in found.others] == ["profile"]


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"\xff\xfe", "is not UTF-8 text"), (b"x" * (8 * 1024 * 1024 + 1), "is larger than 8 MiB"), (b"", "is empty")],
)
def test_what_is_no_lock_file_is_refused(tmp_path: Path, content: bytes, error: str) -> None:
    path = tmp_path / "x.lock.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=error):
        read_lock(path)


def test_a_lock_is_told_from_a_profile_by_what_stands_in_it(profile: Path, tmp_path: Path) -> None:
    moved = lock_profile(profile).path.rename(tmp_path / "anything")
    assert is_lock_file(moved)
    assert not is_lock_file(profile)
    assert is_lock_file(tmp_path / "gone.lock.yaml")
    assert not is_lock_file(tmp_path / "gone.yaml")


def test_a_lock_becomes_exactly_the_generation_that_its_profile_becomes(profile: Path) -> None:
    locked = lock_profile(profile)
    store = Store(layout("agg"))
    start = start_of(locked.path)
    generation, fresh = start.seal(store, "anna", "from the lock")
    assert fresh
    assert generation.plan == start.plan == planned(profile).plan
    assert store.verify(generation.number) == []
    lock = generation.lock
    assert lock is not None
    assert lock.intent == locked.lock.intent
    assert (lock.about.generation, lock.about.by, lock.about.why) == (1, "anna", "from the lock")
    assert lock.about.source == str(locked.path)
    assert lock.about.origins == locked.lock.about.origins
    assert b"there was no profile" in generation.profile

    for path in (locked.path, profile):
        again, fresh = start_of(path).seal(store, "anna", None)
        assert (again.number, fresh) == (1, False)


def test_a_generation_of_a_profile_holds_its_lock(profile: Path) -> None:
    store = Store(layout("agg"))
    generation, _ = start_of(profile).seal(store, "anna", "try")
    lock = generation.lock
    assert lock is not None
    assert to_yaml(lock) == (generation.path / "lock.yaml").read_text()
    assert lock.intent == lock_profile(profile).lock.intent
    assert lock.about.source == str(profile)
    (generation.path / "lock.yaml").chmod(0o644)
    (generation.path / "lock.yaml").write_text("lock: 1\n")
    assert store.verify(1) == ["generation 1: lock.yaml was cut short or edited"]
    with pytest.raises(PdlaunchError, match=r"generation 1: lock\.yaml was cut short or edited"):
        _ = store.generation(1).lock


def test_other_packages_make_another_generation(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(layout("agg"))
    start_of(profile).seal(store, "anna", None)
    monkeypatch.setattr(
        sealing, "read_engine", lambda checked: read_engine(checked).model_copy(update={"packages": {"torch": "2.9.2"}})
    )
    generation, fresh = start_of(profile).seal(store, "anna", None)
    assert (generation.number, fresh) == (2, True)
    assert generation.lock is not None
    assert generation.lock.intent.engine.packages.versions == {"torch": "2.9.2"}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The simulator's source in a folder where it can be edited."""
    place = tmp_path / "source" / "launcher"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(launcher.__file__).parent / "simulator", place / "simulator", ignore=ignored)
    (place / "__init__.py").touch()
    roots = {name: place.parent / name for name in ("launcher/__init__.py", "launcher/simulator")}
    for module in (facts, starting):
        monkeypatch.setattr(module, "simulator_roots", lambda _source: roots)
    return place


def test_the_source_of_a_lock_is_taken_from_where_it_was_or_from_the_store(profile: Path, source: Path) -> None:
    locked = lock_profile(profile)
    store = Store(layout("agg"))
    first, _ = start_of(locked.path).seal(store, "anna", None)
    (source / "simulator/new.py").write_text("edited = True\n")
    second, _ = start_of(profile).seal(store, "anna", None)
    assert second.seal.engine != first.seal.engine
    third, fresh = start_of(locked.path).seal(store, "anna", None)
    assert fresh
    assert third.seal.engine == first.seal.engine == locked.lock.intent.engine.source.tree


def test_a_source_that_is_nowhere_any_more_is_named(profile: Path, source: Path) -> None:
    locked = lock_profile(profile)
    tree = str(locked.lock.intent.engine.source.tree)
    store = Store(layout("agg"))
    (source / "simulator/new.py").write_text("edited = True\n")
    says = rf"the engine's source {tree[:12]} \(pdlaunch itself\) is not kept here, and pdlaunch itself"
    with pytest.raises(InputError, match=rf"^{says} has \w{{12}} now$"):
        start_of(locked.path).seal(store, "anna", None)
    shutil.rmtree(source)
    with pytest.raises(InputError, match=rf"^{says} is gone$"):
        start_of(locked.path).seal(store, "anna", None)
    assert store.numbers() == ()


def test_a_lock_for_another_machine_says_what_is_missing(profile: Path) -> None:
    locked = lock_profile(profile)
    service = locked.lock.intent.services["aggregated-0"]
    for change, error in (
        ({"user": "nobody-of-that-name"}, "there is no user 'nobody-of-that-name' on this machine"),
        ({"argv": (("/nowhere/python", "-m", "x"), *service.argv[1:])}, "/nowhere/python, which runs aggregated-0"),
    ):
        services = {"aggregated-0": service.model_copy(update=change)}
        intent = locked.lock.intent.model_copy(update={"services": services})
        other = locked.lock.model_copy(update={"intent": type(intent).model_validate(intent.model_dump())})
        locked.path.write_text(to_yaml(other))
        with pytest.raises(InputError, match=error):
            start_of(locked.path)


def test_a_lock_keeps_its_backend(profile: Path) -> None:
    locked = lock_profile(profile)
    with pytest.raises(InputError, match="was locked for supervisord, not systemd"):
        start_of(locked.path, backend="systemd")
    assert start_of(locked.path, backend="supervisord").plan.backend == "supervisord"


def test_a_lock_can_be_planned(profile: Path) -> None:
    locked = lock_profile(profile)
    assert planned(locked.path).plan == planned(profile).plan


def test_a_lock_is_neither_judged_nor_locked(profile: Path) -> None:
    locked = lock_profile(profile)
    for judge in (check, lock_profile):
        with pytest.raises(InputError, match=r"agg\.lock\.yaml is a lock, and only profiles are judged"):
            judge(locked.path)
    assert not lock_path(locked.path).exists()


def test_packages_that_changed_since_are_told(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lock_profile(profile).path
    assert start_of(path).summary == f"{path} as it was locked"
    monkeypatch.setattr(starting, "installed", lambda _plan: {"nixl": "1.5.2"})
    assert start_of(path).summary.endswith(", but other packages are installed now: nixl absent -> 1.5.2")
    monkeypatch.setattr(starting, "installed", lambda _plan: {"nixl": "1.5.2", "torch": "2.9.1", "x": "1"})
    assert start_of(path).summary.endswith("nixl absent -> 1.5.2 and 2 more")


def test_a_lock_that_cannot_be_written_is_one_clear_error(profile: Path) -> None:
    lock_path(profile).mkdir()
    with pytest.raises(PdlaunchError, match=r"cannot write .*agg\.lock\.yaml: Is a directory") as caught:
        lock_profile(profile)
    assert caught.value.hint == f"ls -ld {profile.parent}; id"
    assert sorted(path.name for path in profile.parent.glob("*agg*")) == ["agg.lock.yaml", "agg.yaml"]


def test_killed_anywhere_the_old_lock_or_the_new_one_is_there(profile: Path) -> None:
    before = lock_profile(profile).lock
    changed(profile, "INFO", "WARN")
    after = lock_profile(profile, dry_run=True).lock
    for point in points():
        killed = killed_at(point, partial(lock_profile, profile))
        assert read_lock(lock_path(profile)).intent in (before.intent, after.intent)
        if not killed:
            break
    assert read_lock(lock_path(profile)).intent == after.intent
