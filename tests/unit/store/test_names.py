from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.store import give_name, named, names_of, take_name, writer
from launcher.store.journal import Event
from launcher.store.names import NAMED, UNNAMED, names_in, require_name

from .crash import killed_at, points
from .making import a_store


def test_a_name_points_to_a_generation_until_it_is_taken_away(tmp_path: Path) -> None:
    store = a_store(tmp_path, 2)
    assert give_name(store, "noon", 1, by="anna", why="it works") is None
    assert give_name(store, "before-upgrade", 1, by="anna") is None
    assert named(store) == {"before-upgrade": 1, "noon": 1}
    assert names_of(store, 1) == ("before-upgrade", "noon")
    assert names_of(store, 2) == ()
    assert take_name(store, "noon", by="bert") == 1
    assert named(store) == {"before-upgrade": 1}
    said = [(e.what, e.by, e.why, e.generation, e.details) for e in store.journal.events() if "named" in e.what]
    assert said == [
        ("named", "anna", "it works", 1, {"name": "noon"}),
        ("named", "anna", None, 1, {"name": "before-upgrade"}),
        ("unnamed", "bert", None, 1, {"name": "noon"}),
    ]


def test_a_name_is_moved_only_when_that_is_asked_for(tmp_path: Path) -> None:
    store = a_store(tmp_path, 2)
    give_name(store, "noon", 1, by="anna")
    with pytest.raises(InputError, match="generation 1 of tiny is called 'noon' already") as caught:
        give_name(store, "noon", 2, by="anna")
    assert caught.value.hint == "pdlaunch name noon 2 -d tiny --move takes it away from there"
    assert give_name(store, "noon", 2, by="anna", move=True) == 1
    assert named(store) == {"noon": 2}
    assert store.journal.events()[-1].details == {"name": "noon", "was": 1}


def test_the_same_name_again_writes_nothing(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    give_name(store, "noon", 1, by="anna")
    before = store.journal.path.read_bytes()
    assert give_name(store, "noon", 1, by="bert") == 1
    assert store.journal.path.read_bytes() == before


def test_a_removed_generation_takes_its_names_along(tmp_path: Path) -> None:
    store = a_store(tmp_path, 3)
    give_name(store, "noon", 1, by="anna")
    give_name(store, "evening", 2, by="anna")
    store.set_current(3, by="anna")
    store.remove(1, by="anna")
    assert named(store) == {"evening": 2}


def test_there_must_be_such_a_generation_and_such_a_name(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    with pytest.raises(InputError, match="tiny has no generation 7"):
        give_name(store, "noon", 7, by="anna")
    with pytest.raises(InputError, match="no generation of tiny is called 'noon'; there are none"):
        take_name(store, "noon", by="anna")
    give_name(store, "noon", 1, by="anna")
    with pytest.raises(InputError, match="is called 'nono'; there are: noon"):
        take_name(store, "nono", by="anna")


@pytest.mark.parametrize("name", ["noon", "midnight", "before-upgrade", "v1.2", "8-cards", "a" * 63, "10x", "Good"])
def test_words_may_be_names(name: str) -> None:
    require_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("37", "is a generation's number"),
        ("-1", "is a generation's number"),
        ("good", "means the newest generation that served well"),
        ("today", "means a time"),
        ("2h", "means a time"),
        ("1h30m", "means a time"),
        ("x.yaml", "would be taken for a file"),
        ("x.lock.yml", "would be taken for a file"),
        ("12:00", "cannot be a name: letters"),
        ("", "cannot be a name: letters"),
        ("../x", "cannot be a name: letters"),
        ("-x", "cannot be a name: letters"),
        ("a b", "cannot be a name: letters"),
        ("noon\n", "cannot be a name: letters"),
        ("é", "cannot be a name: letters"),
        ("a" * 64, "cannot be a name: letters"),
    ],
)
def test_what_means_something_else_may_not(name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        require_name(name)


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.tuples(st.sampled_from([NAMED, UNNAMED, "removed", "current"]), NAMES, st.integers(1, 3)))


@given(steps=STEPS)
def test_the_last_word_counts(steps: list[tuple[str, str, int]]) -> None:
    events = [Event(what=what, by="anna", generation=number, details={"name": name}) for what, name, number in steps]
    found = names_in(events)
    assert list(found) == sorted(found)
    for name in ("a", "b", "c"):
        own = [i for i, (what, said, _) in enumerate(steps) if what in {NAMED, UNNAMED} and said == name]
        last = steps[own[-1]] if own else None
        expected = last[2] if last and last[0] == NAMED else None
        if expected is not None and ("removed", expected) in [(what, n) for what, _, n in steps[own[-1] :]]:
            expected = None
        assert found.get(name) == expected


def give_noon(folder: Path) -> None:
    store = a_store(folder)
    with writer(store.layout, "name", by="anna"):
        give_name(store, "noon", 2, by="anna", move=True)


def test_killed_anywhere_a_name_is_given_or_not(tmp_path: Path) -> None:
    for point in points():
        folder = tmp_path / str(point)
        store = a_store(folder, 2)
        give_name(store, "noon", 1, by="anna")
        if not killed_at(point, partial(give_noon, folder)):
            assert point > 4
            return
        assert named(store) in ({"noon": 1}, {"noon": 2})
        store.recover(by="bert")
        give_noon(folder)
        assert named(store) == {"noon": 2}
        assert store.verify(2) == []
