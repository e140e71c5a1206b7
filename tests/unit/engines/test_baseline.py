from __future__ import annotations

import base64
import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from launcher.engines.baseline import edited, record
from launcher.engines.checkout import head
from launcher.engines.manifest import Manifest, manifest

FILES = {"__init__.py": "", "srt/server.py": "a = 1\n", "srt/café.py": "b = 2\n", "run.sh": "true\n"}


def a_package(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    package = folder / "sglang"
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **own, **names}
    ).stdout


def a_checkout(folder: Path) -> Path:
    package = a_package(folder / "python")
    (package / "link.py").symlink_to("srt/server.py")
    (folder / "README.md").write_text("not of the package\n")
    (folder / ".gitignore").write_text("_version.py\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    return package


def seen(package: Path) -> Manifest:
    return manifest({"sglang": package})


def edits(tree: Manifest, package: Path, commit: str | None, *, cache: Path | None = None) -> object:
    return edited(tree, package, commit, roots=["sglang"], cache=cache)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_checkout_as_it_was_committed_has_no_edits(tmp_path: Path) -> None:
    package = a_checkout(tmp_path)
    assert edits(seen(package), package, head(package)) == {}


def test_edits_of_a_checkout_are_told_by_content(tmp_path: Path) -> None:
    package = a_checkout(tmp_path)
    (package / "srt/server.py").write_text("a = 2\n")
    (package / "srt/café.py").unlink()
    (package / "new.py").write_text("new\n")
    (package / "_version.py").write_text("ignored by git, and it runs all the same\n")
    (package / "run.sh").write_text("touched\n")
    (package / "run.sh").write_text("true\n")
    (tmp_path / "README.md").write_text("edited\n")
    git(tmp_path, "add", "-A")  # staged or not makes no difference
    assert edits(seen(package), package, head(package)) == {
        "sglang/srt/server.py": sha256("a = 2\n"),
        "sglang/srt/café.py": None,
        "sglang/new.py": sha256("new\n"),
        "sglang/_version.py": sha256("ignored by git, and it runs all the same\n"),
    }


def test_a_committed_edit_is_none(tmp_path: Path) -> None:
    package = a_checkout(tmp_path)
    before = head(package)
    (package / "srt/server.py").write_text("a = 2\n")
    git(tmp_path, "commit", "-q", "-a", "-m", "more")
    assert edits(seen(package), package, head(package)) == {}
    assert edits(seen(package), package, before) == {"sglang/srt/server.py": sha256("a = 2\n")}


def test_what_was_read_before_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = a_checkout(tmp_path / "fork")
    cache = tmp_path / "cache" / "objects.json"
    (package / "srt/server.py").write_text("a = 2\n")
    first = edits(seen(package), package, head(package), cache=cache)
    tree = seen(package)
    monkeypatch.setattr(Path, "read_bytes", _only(cache, Path.read_bytes))
    assert edits(tree, package, head(package), cache=cache) == first == {"sglang/srt/server.py": sha256("a = 2\n")}


def _only(allowed: Path, read: object) -> object:
    def reading(path: Path) -> bytes:
        assert path == allowed, f"{path} was read again"
        assert callable(read)
        content = read(path)
        assert isinstance(content, bytes)
        return content

    return reading


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}'])
def test_a_damaged_cache_costs_time_only(tmp_path: Path, content: str) -> None:
    package = a_checkout(tmp_path / "fork")
    cache = tmp_path / "objects.json"
    cache.write_text(content)
    assert edits(seen(package), package, head(package), cache=cache) == {}


def test_a_repository_runs_nothing_of_its_own(tmp_path: Path) -> None:
    package = a_checkout(tmp_path)
    proof = tmp_path / "was-run"
    git(tmp_path, "config", "core.fsmonitor", f"touch {proof}; true")
    git(tmp_path, "config", "filter.x.clean", f"touch {proof}; cat")
    git(tmp_path, "config", "core.pager", f"touch {proof}; cat")
    (tmp_path / ".gitattributes").write_text("*.py filter=x\n")
    assert edits(seen(package), package, head(package)) == {}
    assert not proof.exists()


def test_without_git_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = a_checkout(tmp_path)
    commit = head(package)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert edits(seen(package), package, commit) is None
    assert edits(seen(package), package, "0" * 40) is None


def a_wheel(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    package = a_package(folder, files)
    info = folder / "sglang-0.5.23.dist-info"
    info.mkdir()
    rows = [f"sglang/{name},sha256={_base64(text)},{len(text)}" for name, text in files.items()]
    rows += ["sglang-0.5.23.dist-info/RECORD,,", "sglang/__pycache__/__init__.cpython-311.pyc,,"]
    rows += [f"../../../bin/sglang,sha256={_base64('x')},1", f"sglang/old.pyc,sha256={_base64('x')},1"]
    (info / "RECORD").write_text("\n".join(rows) + "\n")
    return package


def _base64(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def test_an_installed_package_is_compared_with_its_record(tmp_path: Path) -> None:
    package = a_wheel(tmp_path)
    assert edits(seen(package), package, None) == {}
    (package / "srt/server.py").write_text("a = 2\n")
    (package / "run.sh").unlink()
    (package / "added.py").write_text("new\n")
    assert edits(seen(package), package, None) == {
        "sglang/srt/server.py": sha256("a = 2\n"),
        "sglang/run.sh": None,
        "sglang/added.py": sha256("new\n"),
    }


def test_a_package_that_nothing_vouches_for_has_no_baseline(tmp_path: Path) -> None:
    package = a_package(tmp_path)
    assert edits(seen(package), package, None) is None


def test_a_record_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "RECORD").write_text('"a,b.py",sha256=' + _base64("x") + ",1\nc.py,md5=abc,1\nd.py,sha256=!,1\nshort\n")
    assert record(tmp_path) == {"a,b.py": sha256("x")}
    assert record(tmp_path / "nowhere") == {}


def test_of_a_checkout_only_what_was_taken_counts(tmp_path: Path) -> None:
    package = a_checkout(tmp_path)
    roots = {"sglang/__init__.py": package / "__init__.py", "sglang/srt": package / "srt"}
    (package / "run.sh").unlink()
    (package / "srt/café.py").unlink()
    assert edited(manifest(roots), package, head(package), roots=roots) == {"sglang/srt/café.py": None}


def test_an_edit_after_the_tree_was_read_is_not_remembered_as_what_the_tree_holds(tmp_path: Path) -> None:
    package = a_checkout(tmp_path / "fork")
    cache = tmp_path / "objects.json"
    tree = seen(package)
    (package / "srt/server.py").write_text("a = 2\n")
    assert edits(tree, package, head(package), cache=cache) == {"sglang/srt/server.py": sha256("a = 1\n")}
    (package / "srt/server.py").write_text("a = 1\n")
    assert edits(seen(package), package, head(package), cache=cache) == {}
