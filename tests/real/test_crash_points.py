"""SIGKILL at every changing call of `up`, `rollback`, `restart` and `down` of a running deployment.

Ten random points each, other ones on every run; all of them, in minutes, with PDLAUNCH_TEST_POINTS=all.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import TypeAlias

import pytest

from launcher.backends.supervisord import Supervisord
from launcher.operations.down import down
from launcher.operations.restart import restart
from launcher.operations.rollback import rollback
from launcher.store import holders, resources
from launcher.store.files import remove_tree

from ..deployments import Deployment, Told, until
from ..unit.store.crash import Calls, count, killed_at

pytestmark = pytest.mark.real

OUTSIDE: Calls = (
    (os, "kill"),
    (subprocess.Popen, "_execute_child"),
    *((Supervisord, name) for name in ("install", "start", "stop", "end_orphans", "close")),
)


SLACK = 8
"""Calls by which one run differs from the next: whether the hashes that are remembered are written again, for one."""

Kill: TypeAlias = Callable[[Callable[[], object]], None]


def kills(total: int) -> Iterator[Kill]:
    """For each point of this run what kills an operation there, or fails: a point not reached would prove nothing."""
    assert total > 25
    wanted = os.environ.get("PDLAUNCH_TEST_POINTS", "10")
    every = range(1, total + 1)
    points = list(every) if wanted == "all" else sorted(random.sample(every, int(wanted)))
    print(f"points {points} of {total}")  # noqa: T201 - shown where the test fails
    killed = 0

    for point in points:

        def kill(operation: Callable[[], object], point: int = point) -> None:
            nonlocal killed
            reached = killed_at(point, operation, OUTSIDE)
            assert reached or point > total - SLACK
            killed += reached

        yield kill
    print(f"killed {killed} times")  # noqa: T201 - as above


def tells_the_truth(deployment: Deployment) -> None:
    """`status` lists what runs, says what was interrupted, and every generation is whole."""

    def agrees() -> bool:
        found = {service.name for service in deployment.status.services if service.pid}
        return found == deployment.procs().keys() - {"supervisord"}

    until(agrees, "status lists what runs")
    seen = deployment.status
    if deployment.store.pending():
        assert (seen.state, seen.next is not None) == ("interrupted", True)
    else:
        assert seen.state in {"ok", "stopped", "failed", "degraded", "empty"}
    for number in deployment.store.numbers():
        assert deployment.store.verify(number) in ([], [f"generation {number}: the journal does not know it"])


def serves(deployment: Deployment, generation: int) -> None:
    """It runs that generation, once, and holds what that needs and nothing else."""
    store = deployment.store
    assert (deployment.state, store.current(), store.pending()) == ("ok", generation, None)
    plan = store.generation(generation).plan
    assert deployment.procs().keys() == {"supervisord", *(service.name for service in plan.services)}
    assert set(holders()) == set(resources(plan))
    assert store.verify(generation) == []
    assert store.journal.damage() == []
    assert list(store.layout.state.glob("*/*.tmp")) == []


def fresh(deployment: Deployment) -> None:
    """As if it had never been started here."""
    down(deployment.store, Told(), drain=False)
    remove_tree(deployment.store.layout.state)
    remove_tree(deployment.store.layout.bytecode)


@pytest.fixture
def turns(agg: Deployment) -> Callable[[], Deployment]:
    """The deployment, with other settings at each call."""
    values = cycle("123")

    def turn() -> Deployment:
        agg.env(PDLAUNCH_SIM_TOKEN_MS=next(values))
        return agg

    return turn


def test_a_change_that_is_killed_is_continued_by_the_next_up(turns: Callable[[], Deployment]) -> None:
    turns().up()
    for kill in kills(count(turns().up, OUTSIDE)):
        deployment = turns()
        before = deployment.store.numbers()
        kill(deployment.up)
        tells_the_truth(deployment)
        assert set(before) <= set(deployment.store.numbers())
        serves(deployment, deployment.up().generation)


def test_a_first_start_that_is_killed_is_continued_by_the_next_up(turns: Callable[[], Deployment]) -> None:
    turns().up()
    fresh(turns())
    for kill in kills(count(turns().up, OUTSIDE)):
        deployment = turns()
        fresh(deployment)
        kill(deployment.up)
        tells_the_truth(deployment)
        serves(deployment, deployment.up().generation)


def test_a_way_back_that_is_killed_is_continued_by_the_next(turns: Callable[[], Deployment]) -> None:
    there_and_back = (turns().up().generation, turns().up().generation)
    deployment = turns()
    targets = cycle(there_and_back)

    def back(number: int) -> None:
        rollback(deployment.store, number, Told())

    total = count(lambda: back(next(targets)), OUTSIDE)  # in a child: here the turn is not over
    next(targets)
    for kill in kills(total):
        number = next(targets)
        kill(partial(back, number))
        tells_the_truth(deployment)
        back(number)
        serves(deployment, number)
        assert deployment.store.numbers() == there_and_back


def test_a_restart_that_is_killed_is_continued_by_the_next(turns: Callable[[], Deployment]) -> None:
    deployment = turns()
    generation = deployment.up().generation

    def again() -> None:
        restart(deployment.store, (), Told())

    for kill in kills(count(again, OUTSIDE)):
        kill(again)
        tells_the_truth(deployment)
        again()
        serves(deployment, generation)


def test_an_end_that_is_killed_is_completed_by_the_next(turns: Callable[[], Deployment]) -> None:
    deployment = turns()
    deployment.up()

    def end() -> None:
        down(deployment.store, Told())

    for kill in kills(count(end, OUTSIDE)):
        deployment.up()
        kill(end)
        tells_the_truth(deployment)
        end()
        deployment.assert_nothing_left()
        assert deployment.state == "stopped"
