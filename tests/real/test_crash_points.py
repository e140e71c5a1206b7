"""SIGKILL at every changing call of `up`, `rollback`, `restart` and `down` of a running deployment.

Ten random points each, other ones on every run; all of them, in minutes, with PDLAUNCH_TEST_POINTS=all.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from itertools import cycle

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


def chosen(total: int) -> list[int]:
    """The points of this run, which a failure prints."""
    assert total > 25
    wanted = os.environ.get("PDLAUNCH_TEST_POINTS", "10")
    points = range(1, total + 1)
    found = list(points) if wanted == "all" else sorted(random.sample(points, int(wanted)))
    print(f"{len(found)} of {total} points: {found}")  # noqa: T201 - shown where the test fails
    return found


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
    total = count(turns().up, OUTSIDE)
    for point in chosen(total):
        deployment = turns()
        before = deployment.store.numbers()
        killed_at(point, deployment.up, OUTSIDE)
        tells_the_truth(deployment)
        assert set(before) <= set(deployment.store.numbers())
        serves(deployment, deployment.up().generation)


def test_a_first_start_that_is_killed_is_continued_by_the_next_up(turns: Callable[[], Deployment]) -> None:
    total = count(turns().up, OUTSIDE)
    for point in chosen(total):
        deployment = turns()
        down(deployment.store, Told(), drain=False)
        remove_tree(deployment.store.layout.state)
        remove_tree(deployment.store.layout.bytecode)
        killed_at(point, deployment.up, OUTSIDE)
        tells_the_truth(deployment)
        serves(deployment, deployment.up().generation)


def test_a_way_back_that_is_killed_is_continued_by_the_next(turns: Callable[[], Deployment]) -> None:
    there_and_back = (turns().up().generation, turns().up().generation)
    deployment = turns()
    targets = cycle(there_and_back)

    def back(number: int) -> None:
        rollback(deployment.store, number, Told())

    total = count(lambda: back(next(targets)), OUTSIDE)
    next(targets)
    for point in chosen(total):
        number = next(targets)
        killed_at(point, lambda: back(number), OUTSIDE)  # noqa: B023 - it runs before the loop goes on
        tells_the_truth(deployment)
        back(number)
        serves(deployment, number)
        assert deployment.store.numbers() == there_and_back


def test_a_restart_that_is_killed_is_continued_by_the_next(turns: Callable[[], Deployment]) -> None:
    deployment = turns()
    generation = deployment.up().generation

    def again() -> None:
        restart(deployment.store, (), Told())

    for point in chosen(count(again, OUTSIDE)):
        killed_at(point, again, OUTSIDE)
        tells_the_truth(deployment)
        again()
        serves(deployment, generation)


def test_an_end_that_is_killed_is_completed_by_the_next(turns: Callable[[], Deployment]) -> None:
    deployment = turns()
    deployment.up()

    def end() -> None:
        down(deployment.store, Told())

    total = count(end, OUTSIDE)
    for point in chosen(total):
        deployment.up()
        killed_at(point, end, OUTSIDE)
        tells_the_truth(deployment)
        end()
        deployment.assert_nothing_left()
        assert deployment.state == "stopped"
