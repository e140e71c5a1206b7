from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.engines import lookup, register, registered, resolve, unregister
from launcher.engines.registry import _NAME, _name_for
from launcher.errors import InputError, PdlaunchError
from tests.unit.engines.trees import package, serving


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pdlaunch's data folder, empty."""
    monkeypatch.setenv("PDLAUNCH_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    serving(tmp_path / "opt" / "sglang" / "venv")
    return tmp_path / "opt" / "sglang" / "venv"


def test_an_engine_gets_a_name_and_is_found_by_it(environment: Path) -> None:
    added = register(environment)
    assert (added.name, added.path, added.kind) == ("sglang", environment, "sglang")
    assert lookup("sglang") == added
    assert [engine.name for engine in registered()] == ["sglang", "simulator"]
    assert resolve("sglang").version == "0.5.23"


def test_a_path_needs_no_name(environment: Path) -> None:
    assert resolve(str(environment)).path == environment


def test_the_simulator_is_always_there() -> None:
    assert resolve("simulator").kind == "simulator"


def test_adding_the_same_again_changes_nothing(environment: Path, data: Path) -> None:
    register(environment, "fork")
    before = (data / "engines" / "registered.json").read_text()
    register(environment, "fork")
    assert (data / "engines" / "registered.json").read_text() == before


def test_a_name_means_one_engine(environment: Path, tmp_path: Path) -> None:
    register(environment, "fork")
    package(tmp_path / "checkout" / "sglang")
    with pytest.raises(InputError, match=f"fork is already {environment}"):
        register(tmp_path / "checkout", "fork")
    assert lookup("fork").path == environment


def test_what_is_no_engine_gets_no_name(tmp_path: Path, data: Path) -> None:
    with pytest.raises(InputError, match="neither Python nor SGLang"):
        register(tmp_path, "fork")
    assert not data.exists()


@pytest.mark.parametrize("name", ["a/b", "/", " ", "-x", "7", "a b", "x" * 64, "name\n", "ü"])
def test_a_name_is_a_word(environment: Path, name: str) -> None:
    with pytest.raises(InputError, match="no name for an engine"):
        register(environment, name)


@pytest.mark.parametrize("name", ["cpu", "simulator"])
def test_the_names_of_own_engines_are_taken(environment: Path, name: str) -> None:
    with pytest.raises(InputError, match="pdlaunch's own engine"):
        register(environment, name)


def test_a_name_can_be_taken_away(environment: Path) -> None:
    register(environment, "fork")
    assert unregister("fork").path == environment
    with pytest.raises(InputError, match="no engine is called fork"):
        lookup("fork")
    with pytest.raises(InputError, match="no engine is called fork"):
        unregister("fork")


def test_an_unknown_name_is_answered_with_the_nearest(environment: Path) -> None:
    register(environment, "dsv4-fork")
    with pytest.raises(InputError) as caught:
        lookup("dsv4-frok")
    assert caught.value.hint == "did you mean dsv4-fork?"
    assert "known: dsv4-fork, simulator" in caught.value.message


def test_the_cpu_engine_is_answered_with_its_installation() -> None:
    with pytest.raises(InputError) as caught:
        lookup("cpu")
    assert caught.value.hint == "install it: pdlaunch engine install cpu"


@pytest.mark.parametrize("text", ["{", "[]", '{"fork": {}}', '{"fork": {"path": "/x", "kind": "gpu"}}', '{"fork": 1}'])
def test_a_damaged_registry_is_one_clear_error(data: Path, text: str) -> None:
    (data / "engines").mkdir(parents=True)
    (data / "engines" / "registered.json").write_text(text)
    with pytest.raises(PdlaunchError, match=r"registered\.json is damaged") as caught:
        registered()
    assert caught.value.hint


def test_an_unwritable_registry_is_one_clear_error(environment: Path, data: Path) -> None:
    data.write_text("a file where the folder should be")
    with pytest.raises(PdlaunchError, match="cannot write"):
        register(environment, "fork")


def test_entries_that_are_added_at_once_are_all_kept(tmp_path: Path, data: Path) -> None:
    for n in range(8):
        package(tmp_path / f"fork{n}" / "sglang")
    threads = [threading.Thread(target=register, args=(tmp_path / f"fork{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads((data / "engines" / "registered.json").read_text())) == [f"fork{n}" for n in range(8)]


@pytest.mark.parametrize(
    ("path", "name"),
    [("/opt/sglang/venv", "sglang"), ("/opt/dsv4", "dsv4"), ("/src/sglang/python", "sglang"), ("/a/.venv", "a")],
)
def test_an_engine_is_called_after_the_part_of_its_path_that_says_something(path: str, name: str) -> None:
    assert _name_for(Path(path)) == name


@given(st.text(max_size=70))
def test_a_name_is_never_mistaken_for_a_path(name: str) -> None:
    assert not (_NAME.fullmatch(name) and "/" in name)
