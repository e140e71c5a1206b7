from __future__ import annotations

import os
from pathlib import Path

import pytest

from launcher.errors import InputError, PdlaunchError
from launcher.store import cache_dir, deployments, layout, run_dir, state_dir

from .making import a_store

PLACES = ("state", "cache", "run")


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLACES:
        monkeypatch.delenv(f"PDLAUNCH_{name.upper()}_DIR")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/anna")


def test_each_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (state_dir(), cache_dir(), run_dir()) == (tmp_path / "state", tmp_path / "cache", tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PDLAUNCH_STATE_DIR", "here")
    assert state_dir() == tmp_path / "here"


@pytest.mark.usefixtures("as_user")
def test_root_has_the_systems_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("XDG_STATE_HOME", "/home/anna/state")
    assert state_dir() == Path("/var/lib/pdlaunch")
    assert cache_dir() == Path("/var/cache/pdlaunch")
    assert run_dir() == Path("/run/pdlaunch")


@pytest.mark.usefixtures("as_user")
def test_a_user_has_the_xdg_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    assert state_dir() == Path("/home/anna/.local/state/pdlaunch")
    assert cache_dir() == Path("/home/anna/.cache/pdlaunch")
    monkeypatch.setenv("XDG_STATE_HOME", "/data/state")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    assert state_dir() == Path("/data/state/pdlaunch")
    assert cache_dir() == Path("/home/anna/.cache/pdlaunch")
    assert run_dir() == Path("/run/user/1000/pdlaunch")


def test_the_folder_in_tmp_must_be_private(tmp_path: Path) -> None:
    from launcher.store.places import _private

    assert _private(tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for name in ("open", "link"):
        with pytest.raises(PdlaunchError, match=f"{name} is not a private folder of yours"):
            _private(tmp_path / name)


def test_a_layout_makes_nothing(tmp_path: Path) -> None:
    found = layout("dsv4-flash")
    assert found.state == tmp_path / "state" / "dsv4-flash"
    assert found.cache == tmp_path / "cache"
    assert found.run == tmp_path / "run" / "dsv4-flash"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-d", ".hidden", "a b", "a\0b", "x" * 64, "é"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="is no deployment name"):
        layout(name)


def test_deployments_are_those_with_generations(tmp_path: Path) -> None:
    assert deployments() == ()
    a_store(tmp_path, generations=1)
    (tmp_path / "state" / "empty").mkdir()
    assert deployments() == ("tiny",)
