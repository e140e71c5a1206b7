"""A stopped deployment is forgotten altogether, and nothing beside it."""

from __future__ import annotations

import pytest

from launcher.errors import InputError
from launcher.operations.down import down
from launcher.operations.forgetting import forget, to_forget
from launcher.store import Store, deployments, give_name, layout, state_dir

from ...deployments import Deployment, Told
from ..cli.conftest import Shell, shell
from ..store.crash import count, killed_at
from ..store.making import BUNDLE, PROFILE, a_plan

__all__ = ["shell"]


def recorded(name: str) -> Store:
    store = Store(layout(name))
    plan = a_plan().model_copy(update={"deployment": name})
    number = store.commit(PROFILE, plan, BUNDLE, snapshot_digest=None, by="anna").number
    store.set_current(number, by="anna")
    give_name(store, "noon", number, by="anna")
    return store


def test_killed_anywhere_it_is_there_or_gone_and_the_same_again_completes_it() -> None:
    recorded("other")
    store = recorded("tiny")
    total = count(lambda: forget(store))
    assert total > 5
    for point in range(1, total + 1):
        recorded("tiny")
        killed_at(point, lambda: forget(store))
        if "tiny" in deployments():
            assert store.verify(1) == [], point
            assert forget(store).names == ("noon",)
        assert deployments() == ("other",), point
        forget(recorded("third"))
        assert [path.name for path in state_dir().iterdir()] == ["other"], point


@pytest.mark.real
def test_what_runs_is_not_forgotten(agg: Deployment) -> None:
    agg.up()
    with pytest.raises(InputError, match="agg still runs: aggregated-0"):
        to_forget(agg.store)
    down(agg.store, Told())
    assert forget(agg.store).generations == (1,)
    agg.assert_nothing_left()
    assert not agg.store.layout.state.exists()
    assert agg.up().generation == 1


def test_it_has_to_be_named_and_agreed_to(shell: Shell) -> None:
    recorded("tiny")
    said = shell("prune", "--all")
    assert (said.code, said.out, said.err.splitlines()[-1]) == (2, "", "hint: pdlaunch prune --all -d NAME")
    said = shell("prune", "--all", "-d", "tiny")
    assert said.code == 2
    assert said.err == (
        "would remove tiny: 1 generations with journal and logs, and its names: noon\n"
        "error: this needs a yes\nhint: pdlaunch prune --all -d tiny --yes\n"
    )
    assert shell("prune", "--all", "-d", "tiny", "--dry-run").out.startswith("would remove tiny: ")
    assert deployments() == ("tiny",)
    assert shell("prune", "--all", "-d", "tiny", "--yes").out.startswith("removed tiny: ")
    assert deployments() == ()
