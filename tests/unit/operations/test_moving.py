"""What going to a plan takes, from what runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.backends.processes import Proc
from launcher.errors import InputError
from launcher.observe.running import Running
from launcher.operations.moving import Move, move
from launcher.operations.restart import meant
from launcher.operations.up import describe

from ..store.making import a_plan, a_service

PLAN = a_plan()
DIGESTS = {service.name: service.digest() for service in PLAN.services}
NAMES = tuple(DIGESTS)


def running(digest: str | None) -> Running:
    return Running(digest, (Proc(1, 1, 0, 1, "x", ("x",)),))


ALL = {name: running(digest) for name, digest in DIGESTS.items()}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({}, Move((), NAMES, ())),
        (ALL, Move((), (), NAMES)),
        ({**ALL, "decode-0": running("other")}, Move(("decode-0",), ("decode-0",), ("prefill-0", "router"))),
        ({**ALL, "decode-0": running(None)}, Move(("decode-0",), ("decode-0",), ("prefill-0", "router"))),
        ({**ALL, "decode-1": running("x")}, Move(("decode-1",), (), NAMES)),
        ({"router": ALL["router"]}, Move((), ("prefill-0", "decode-0"), ("router",))),
    ],
)
def test_what_differs_stops_and_what_is_missing_starts(now: dict[str, Running], expected: Move) -> None:
    assert move(PLAN, now) == expected
    assert expected.nothing == (not expected.start and not expected.stop)


def test_what_is_broken_or_forced_restarts_whatever_it_runs() -> None:
    assert move(PLAN, ALL, broken={"decode-0"}) == Move(("decode-0",), ("decode-0",), ("prefill-0", "router"))
    assert move(PLAN, ALL, forced={"router"}) == Move(("router",), ("router",), ("prefill-0", "decode-0"))
    assert move(PLAN, {}, broken={"decode-0"}) == Move((), NAMES, ())


states = st.dictionaries(st.sampled_from([*NAMES, "decode-1", "old"]), st.sampled_from(["right", "wrong", None]))


@given(states, st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_afterwards_exactly_the_plan_runs(now: dict[str, str | None], broken: set[str], forced: set[str]) -> None:
    seen = {name: running(DIGESTS.get(name, "?") if how == "right" else how) for name, how in now.items()}
    found = move(PLAN, seen, broken, forced)
    assert (set(seen) - set(found.stop)) | set(found.start) == set(NAMES)
    assert set(found.stop) <= set(seen)
    assert set(found.keep) == set(NAMES) - set(found.start)
    assert not set(found.keep) & (broken | forced)
    assert list(found.start) == [name for name in NAMES if name in found.start]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Move((), NAMES, ()), "3 services start"),
        (Move(("decode-0",), ("decode-0",), ("prefill-0", "router")), "decode-0 restarts, prefill-0 and router stay"),
        (Move(("old",), ("decode-0",), NAMES), "decode-0 starts, old stops, 3 services stay"),
        (Move((), (), ()), "nothing to do"),
    ],
)
def test_a_move_in_words(found: Move, words: str) -> None:
    assert describe(found) == words


def test_services_are_meant_by_name_or_role() -> None:
    plan = a_plan(a_service("prefill-0"), a_service("decode-0"), a_service("decode-1"), a_service("router"))
    assert meant(plan, ()) == ("prefill-0", "decode-0", "decode-1", "router")
    assert meant(plan, ("decode",)) == ("decode-0", "decode-1")
    assert meant(plan, ("router", "decode-1")) == ("decode-1", "router")
    with pytest.raises(InputError, match="there is no service 'decod' in tiny; there are: prefill-0, decode-0"):
        meant(plan, ("decode", "decod"))
