from __future__ import annotations

from pathlib import Path

import pytest

from launcher.engines import engines_dir


@pytest.mark.parametrize("root", [True, False])
def test_the_data_folder_of_the_environment_comes_first(root: bool) -> None:
    environ = {"PDLAUNCH_DATA_DIR": "/data", "XDG_DATA_HOME": "/xdg", "HOME": "/home/o"}
    assert engines_dir(environ, root=root) == Path("/data/engines")


def test_root_has_the_system_folder() -> None:
    assert engines_dir({"XDG_DATA_HOME": "/xdg", "HOME": "/root"}, root=True) == Path("/var/lib/pdlaunch/engines")


def test_others_have_the_xdg_data_folder() -> None:
    environ = {"XDG_DATA_HOME": "/xdg", "HOME": "/home/o"}
    assert engines_dir(environ, root=False) == Path("/xdg/pdlaunch/engines")


@pytest.mark.parametrize("environ", [{}, {"XDG_DATA_HOME": ""}, {"XDG_DATA_HOME": "relative"}])
def test_without_a_usable_xdg_folder_it_lies_in_the_home(environ: dict[str, str]) -> None:
    found = engines_dir({**environ, "HOME": "/home/o"}, root=False)
    assert found == Path("/home/o/.local/share/pdlaunch/engines")


def test_a_relative_data_folder_is_taken_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PDLAUNCH_DATA_DIR", "data")
    assert engines_dir() == tmp_path / "data" / "engines"
