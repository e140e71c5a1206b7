"""Which deployment is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.errors import InputError
from launcher.operations.selecting import select, stores
from launcher.store import layout, state_dir


def deployed(*names: str) -> None:
    for name in names:
        layout(name).generations.mkdir(parents=True)


def test_where_there_is_none() -> None:
    for ask in (stores, lambda: select(None)):
        with pytest.raises(InputError) as caught:
            ask()
        assert caught.value.message == f"there is no deployment yet in {state_dir()}"
        assert caught.value.hint == "pdlaunch up PROFILE starts one"


def test_the_only_one_needs_no_name() -> None:
    deployed("one")
    assert select(None).layout.deployment == "one"
    assert [store.layout.deployment for store in stores()] == ["one"]


def test_of_several_one_must_be_named() -> None:
    deployed("two", "one")
    with pytest.raises(InputError) as caught:
        select(None)
    assert (caught.value.message, caught.value.hint) == ("there are several deployments: one, two", "say which: -d one")
    assert select("two").layout.deployment == "two"
    with pytest.raises(InputError, match="no deployment is called 'three'; there are: one, two"):
        select("three")


def test_a_profile_s_path_means_its_deployment_whatever_else_is_wrong_with_it(tmp_path: Path) -> None:
    deployed("one", "two")
    profile = tmp_path / "p.yaml"
    profile.write_text("name: two\nengine: {kind: simulator}\naggregated: {}\n")
    assert select(str(profile)).layout.deployment == "two"
    profile.write_text("name: two\nnonsense: 1\n")
    assert select(str(profile)).layout.deployment == "two"
    profile.write_text("name: other\n")
    with pytest.raises(InputError, match="no deployment is called 'other'"):
        select(str(profile))
