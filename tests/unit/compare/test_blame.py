"""Which generation brought a value: the first of the unbroken run that ends where one looks."""

from __future__ import annotations

from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st

from launcher.compare import Change, Setting
from launcher.compare.blame import brought
from launcher.errors import PdlaunchError

X = Change("env", "X", ("decode-0",), "decode", None, Setting("1"))
Y = Change("env", "Y", ("decode-0",), "decode", None, Setting("1"))


class Recorded:
    """A generation with the value of each variable; one without values cannot be read."""

    asked = 0

    def __init__(self, number: int, **values: str | None) -> None:
        self.number, self._values = number, values

    def value(self, change: Change) -> Hashable:
        Recorded.asked += 1
        if not self._values:
            raise PdlaunchError("damaged")
        return self._values.get(change.name)


def test_the_first_of_the_run() -> None:
    older = [Recorded(42, X="1", Y="2"), Recorded(41, X="1", Y="1"), Recorded(40, X=None, Y="1")]
    assert brought([X, Y], Recorded(43, X="1", Y="1"), older) == {X: 41, Y: 43}


def test_one_that_was_taken_away_in_between_came_back_later() -> None:
    older = [Recorded(3, X="1"), Recorded(2, X=None), Recorded(1, X="1")]
    assert brought([X], Recorded(4, X="1"), older)[X] == 3


def test_a_generation_that_cannot_be_read_is_passed_over() -> None:
    older = [Recorded(3), Recorded(2, X="1"), Recorded(1, X=None)]
    assert brought([X], Recorded(4, X="1"), older)[X] == 2


def test_no_more_is_read_than_it_takes() -> None:
    def endless() -> list[Recorded]:
        return [Recorded(n, X=str(n)) for n in range(999, 0, -1)]

    Recorded.asked = 0
    assert brought([X], Recorded(1000, X="1000"), endless()) == {X: 1000}
    assert Recorded.asked == 2


@given(st.lists(st.sampled_from(["1", "2"]), min_size=1, max_size=20))
def test_every_generation_since_then_has_the_value(values: list[str]) -> None:
    recorded = [Recorded(number, X=value) for number, value in enumerate(values)]
    since = brought([X], recorded[-1], reversed(recorded[:-1]))[X]
    assert set(values[since:]) == {values[-1]}
    assert since == 0 or values[since - 1] != values[-1]
