"""What `prune` takes, keeps and says, with damage among the generations and no room on the disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.operations.pruning import prune, to_prune
from launcher.store import Store, give_name
from launcher.store.generation import SEAL

from ..store.making import a_generation, a_store


def damage(store: Store, number: int, name: str = SEAL) -> None:
    path = store.generation(number).path / name
    path.parent.chmod(0o755)
    path.chmod(0o644)
    path.write_text("{")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Five generations, 1 and 2 with a source of their own, the others with one in common; 5 is current."""
    made = a_store(tmp_path)
    for letter in "abc":
        (made.layout.engines / (letter * 64)).mkdir(parents=True)
        (made.layout.engines / f"{letter * 64}.json").write_text("{}")
    for letter in "abccc":
        a_generation(made, snapshot=letter * 64)
    made.set_current(5, by="anna")
    return made


def snapshots(store: Store) -> list[str]:
    return sorted({path.name[0] for path in store.layout.engines.iterdir()})


def test_a_damaged_one_goes_like_any_other_and_one_that_stays_is_told(store: Store) -> None:
    damage(store, 1)
    damage(store, 4)
    found = prune(store, 2)
    assert (found.removed, found.undecided) == ((1, 2, 3), None)
    assert found.kept[4].startswith("recent; damaged: generation 4: manifest.json cannot be read")
    assert found.kept[5] == "current"
    assert snapshots(store) == ["c"]


def test_a_damaged_one_that_has_a_name_keeps_its_source(store: Store) -> None:
    give_name(store, "noon", 1, by="anna")
    damage(store, 1)
    assert prune(store, 1).removed == (2, 3, 4)
    assert snapshots(store) == ["a", "c"]


def test_where_one_does_not_say_which_source_it_runs_none_is_removed(store: Store) -> None:
    give_name(store, "noon", 1, by="anna")
    damage(store, 1)
    (store.generation(1).path / "engine").unlink()
    found = prune(store, 1)
    assert found.removed == (2, 3, 4)
    assert found.undecided is not None
    assert found.undecided.startswith("generation 1: manifest.json ")
    assert snapshots(store) == ["a", "b", "c"]


def test_it_makes_room_on_a_full_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal's line finds room once the generation's own files are gone."""
    append, doomed = store.journal.append, store.layout.generation(1).with_name("1.tmp")

    def no_room(event: object) -> None:
        if doomed.exists() and list(doomed.iterdir()):
            raise PdlaunchError("no space left") from OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(event)  # type: ignore[arg-type]

    monkeypatch.setattr(store.journal, "append", no_room)
    store.remove(1, by="anna")
    assert (store.numbers(), doomed.exists()) == ((2, 3, 4, 5), False)
    assert store.next_number() == 6


def test_what_stays_says_why(store: Store) -> None:
    give_name(store, "noon", 2, by="anna")
    assert to_prune(store, 2).kept == {2: "named noon", 4: "recent", 5: "current"}
