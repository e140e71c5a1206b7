"""SIGKILL at every changing call of `lock` and `name`: the old or the new, whole, and the same command completes it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from launcher.lock import read_lock
from launcher.operations.locking import compare_profile, lock_path, lock_profile
from launcher.operations.naming import name
from launcher.operations.starting import start_of
from launcher.store import Store, layout, named
from launcher.store.files import remove_tree

from ..store.crash import count, killed_at


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "agg.yaml"
    write(path, 4096)
    return path


def write(path: Path, context: int) -> None:
    engine = {"kind": "simulator", "args": {"context-length": context}}
    path.write_text(
        yaml.safe_dump({"name": "agg", "engine": engine, "aggregated": {"port": 12000, "nccl_port": 12001}})
    )


@pytest.mark.parametrize("before", [None, 2048], ids=["first", "another"])
def test_a_lock_beside_its_profile(profile: Path, before: int | None) -> None:
    path = lock_path(profile)

    def begin() -> str | None:
        remove_tree(layout("agg").cache)
        path.unlink(missing_ok=True)
        if before is None:
            return None
        write(profile, before)
        text = lock_profile(profile).path.read_text()
        write(profile, 4096)
        return text

    begin()
    total = count(lambda: lock_profile(profile))
    assert total > 5
    for point in range(1, total + 1):
        old = begin()
        killed_at(point, lambda: lock_profile(profile))
        if path.exists() and path.read_text() != old:
            assert read_lock(path).intent.digest == lock_profile(profile, dry_run=True).lock.intent.digest, point
        else:
            assert path.exists() == (old is not None), point
        assert lock_profile(profile).path == path
        assert compare_profile(profile).equal, point
        assert {p.name for p in profile.parent.iterdir() if p.is_file()} == {profile.name, path.name}, point
    print(f"killed at {total} points")  # noqa: T201 - shown where the test fails


def test_a_name(profile: Path) -> None:
    """`lock --as` is the same."""
    store = Store(layout("agg"))
    for context in (4096, 2048):
        write(profile, context)
        generation, _ = start_of(profile).seal(store, "anna", None)
        store.set_current(generation.number, by="anna")
    number = 0

    def give() -> None:
        name(store, "noon", number, move=True)

    number = 1
    total = count(give)
    assert total > 3
    give()
    for point in range(1, total + 1):
        before = named(store)["noon"]
        number = 3 - before
        killed_at(point, give)
        assert named(store)["noon"] in (before, number), point
        give()
        assert named(store) == {"noon": number}, point
        assert store.journal.damage() == [], point
        assert [n for n in store.numbers() if store.verify(n)] == [], point
    print(f"killed at {total} points")  # noqa: T201 - as above
