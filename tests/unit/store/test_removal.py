from __future__ import annotations

from pathlib import Path

import pytest

from launcher.engines.snapshot import snapshot
from launcher.errors import InputError, PdlaunchError
from launcher.store import Store

from .making import a_generation, a_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Generations 1 and 2 on one snapshot, 3 on another, 4 on none; 3 is current."""
    store, source = a_store(tmp_path), tmp_path / "fork"
    source.mkdir()
    for text, times in (("x = 1\n", 2), ("x = 2\n", 1)):
        (source / "version.py").write_text(text)
        for _ in range(times):
            a_generation(store, snapshot=snapshot({"sglang": source}, store.layout.engines).digest)
    a_generation(store)
    store.set_current(3, by="anna")
    return store


def snapshots(store: Store) -> list[str]:
    return sorted(path.name for path in store.layout.engines.iterdir() if path.is_dir())


def test_a_removed_generation_is_gone_and_its_number_stays_used(store: Store) -> None:
    store.remove(4, by="anna", why="space")
    assert store.numbers() == (1, 2, 3)
    assert store.next_number() == 5
    last = store.journal.events()[-1]
    assert (last.what, last.generation, last.by, last.why) == ("removed", 4, "anna", "space")
    with pytest.raises(InputError, match="has no generation 4: there are 1 to 3"):
        store.remove(4, by="anna")


def test_what_runs_or_is_about_to_is_not_removed(store: Store) -> None:
    with pytest.raises(PdlaunchError, match="generation 3 is the current one"):
        store.remove(3, by="anna")
    store.begin("rollback", from_generation=3, to_generation=1, by="anna")
    with pytest.raises(PdlaunchError, match="generation 1 is needed by the operation under way"):
        store.remove(1, by="anna")
    with pytest.raises(PdlaunchError, match="`rollback` by anna is not finished"):
        store.remove_unused_snapshots()
    assert store.numbers() == (1, 2, 3, 4)


def test_a_snapshot_goes_with_the_last_generation_that_runs_it(store: Store) -> None:
    shared, own = (store.generation(number).seal.engine for number in (1, 3))
    store.remove(1, by="anna")
    assert store.remove_unused_snapshots() == ()
    assert store.verify(2) == []
    store.remove(2, by="anna")
    assert store.remove_unused_snapshots() == (shared,)
    assert snapshots(store) == [own]
    assert store.verify(3) == []
    assert sorted(path.name for path in store.layout.engines.iterdir()) == [own, f"{own}.json"]


def test_a_damaged_generation_keeps_every_snapshot(store: Store) -> None:
    store.generation(1).path.chmod(0o755)
    (store.generation(1).path / "manifest.json").unlink()
    (store.generation(1).path / "engine").unlink()
    with pytest.raises(PdlaunchError, match=r"generation 1: manifest\.json is gone"):
        store.remove_unused_snapshots()
    assert len(snapshots(store)) == 2


def test_no_snapshots_at_all(tmp_path: Path) -> None:
    assert a_store(tmp_path, generations=1).remove_unused_snapshots() == ()
