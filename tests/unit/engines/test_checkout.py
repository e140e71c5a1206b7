from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.engines.checkout import head, package_in, source_version
from tests.unit.engines.trees import package

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Run git in `tmp_path`, with nobody's configuration."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    who = ["-c", "user.name=o", "-c", "user.email=o@example.org", "-c", "init.defaultBranch=main"]

    def run(*words: str) -> str:
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    return run


@pytest.fixture
def fork(tmp_path: Path, git: Git) -> Path:
    """A checkout with one commit, tagged v0.5.23; returns its package."""
    found = package(tmp_path / "python" / "sglang")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    git("tag", "v0.5.23")
    return found


def test_the_package_lies_below_python_or_directly_in_the_folder(tmp_path: Path) -> None:
    assert package_in(tmp_path) is None
    direct = package(tmp_path / "sglang")
    assert package_in(tmp_path) == direct
    repository = package(tmp_path / "python" / "sglang")
    assert package_in(tmp_path) == repository


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        ("_version.py", "__version__: str\n__version__ = version = '0.5.24'\n", "0.5.24"),
        ("version.py", '__version__ = "0.4.9"\n', "0.4.9"),
        ("version.py", "try:\n    from sglang._version import __version__\nexcept ImportError: ...\n", "0.0.0.dev0"),
    ],
)
def test_the_version_that_the_source_wrote_down(tmp_path: Path, name: str, text: str, version: str) -> None:
    assert source_version(package(tmp_path / "sglang", {name: text})) == version


def test_without_a_written_version_the_tags_say_it(fork: Path, git: Git) -> None:
    assert source_version(fork) == "0.5.23"
    git("commit", "-qm", "two", "--allow-empty")
    assert source_version(fork) == f"0.5.23.post1+g{git('rev-parse', 'HEAD')[:9]}"


def test_the_head_of_a_branch_packed_detached_or_in_a_worktree(fork: Path, git: Git, tmp_path: Path) -> None:
    commit = git("rev-parse", "HEAD")
    assert head(fork) == commit
    git("pack-refs", "--all")
    assert head(fork) == commit
    git("worktree", "add", "-q", "-b", "side", "side")
    assert head(tmp_path / "side" / "python" / "sglang") == commit
    git("checkout", "-q", "--detach")
    assert head(fork) == commit


def test_a_repository_without_a_commit_has_no_head(tmp_path: Path, git: Git) -> None:
    git("init", "-q")
    assert head(package(tmp_path / "sglang")) is None


def test_a_repository_further_up_is_another_one(fork: Path, tmp_path: Path) -> None:
    inside = package(tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "sglang")
    assert head(fork) is not None
    assert head(inside) is None
    assert source_version(inside) == "0.0.0.dev0"
