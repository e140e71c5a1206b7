from __future__ import annotations

from pathlib import Path

import pytest

from launcher.errors import BusyError, InputError
from launcher.operations.naming import Named, name, names, unname, would_name, would_unname
from launcher.store import Store, named, writer

from ..store.making import a_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return a_store(tmp_path, 2)


def test_the_current_generation_is_named_unless_another_is_meant(store: Store) -> None:
    with pytest.raises(InputError, match="tiny has not served yet"):
        name(store, "noon", None)
    store.set_current(2, by="anna")
    assert name(store, "noon", None) == Named("tiny", "noon", 2, None)
    assert name(store, "early", 1, why="it was good") == Named("tiny", "early", 1, None)
    assert names(store) == (Named("tiny", "early", 1, 1), Named("tiny", "noon", 2, 2))
    assert store.journal.events()[-1].why == "it was good"
    assert name(store, "noon", 1, move=True) == Named("tiny", "noon", 1, 2)
    assert unname(store, "early") == Named("tiny", "early", 1, 1)
    assert named(store) == {"noon": 1}


def test_trying_changes_nothing_and_refuses_the_same(store: Store) -> None:
    store.set_current(2, by="anna")
    assert would_name(store, "noon", None) == Named("tiny", "noon", 2, None)
    assert named(store) == {}
    name(store, "noon", 1)
    with pytest.raises(InputError, match="is called 'noon' already"):
        would_name(store, "noon", 2)
    with pytest.raises(InputError, match="is called 'noon' already"):
        name(store, "noon", 2)
    assert would_name(store, "noon", 2, move=True).before == 1
    assert would_unname(store, "noon") == Named("tiny", "noon", 1, 1)
    assert named(store) == {"noon": 1}
    with pytest.raises(InputError, match="no generation of tiny is called 'late'"):
        would_unname(store, "late")


def test_nobody_names_while_another_writes(store: Store) -> None:
    with writer(store.layout, "up", by="bert"), pytest.raises(BusyError, match="bert is running `up`"):
        name(store, "noon", 1)
    assert named(store) == {}
