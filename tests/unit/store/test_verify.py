from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from launcher import __version__
from launcher.engines.snapshot import snapshot
from launcher.errors import PdlaunchError
from launcher.store import Generation, Store

from .making import a_generation, a_layout, a_store


@pytest.fixture
def generation(tmp_path: Path) -> Generation:
    store = a_store(tmp_path)
    source = tmp_path / "fork"
    source.mkdir()
    (source / "version.py").write_text("x = 1\n")
    taken = snapshot({"sglang": source}, store.layout.engines)
    return a_generation(store, snapshot=taken.digest)


def edit(path: Path, content: str | None) -> None:
    """Write over a file, or remove it, as only its owner can."""
    path.parent.chmod(0o755)
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_text(content)


def relink(folder: Path) -> None:
    edit(folder / "engine", None)
    (folder / "engine").symlink_to("/opt/fork")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda g: edit(g / "decode-0.sh", "exec false\n"), "decode-0.sh was cut short or edited"),
        (lambda g: edit(g / "units/tiny.service", None), "units/tiny.service is gone"),
        (lambda g: edit(g / "profile.yaml", "name: other\n"), "profile.yaml was cut short or edited"),
        (lambda g: edit(g / "evil.sh", "exec evil\n"), "evil.sh was added"),
        (lambda g: edit(g / "manifest.json", None), "manifest.json is gone"),
        (lambda g: edit(g / "manifest.json", '{"format": 1'), "manifest.json cannot be read: is no JSON"),
        (relink, "engine does not lead to the snapshot"),
        (lambda g: edit(g / "engine/sglang/version.py", "x = 2\n"), "engine snapshot "),
    ],
)
def test_each_damage_is_named(
    generation: Generation, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(generation.path)
    (problem,) = Store(a_layout(tmp_path)).verify(1)
    assert problem.startswith(f"generation 1: {said}")


def test_a_seal_made_to_fit_an_edit_is_noticed(generation: Generation, tmp_path: Path) -> None:
    edit(generation.path / "decode-0.sh", "exec false\n")
    seal = json.loads((generation.path / "manifest.json").read_text())
    seal["files"]["decode-0.sh"] = "e3d25e3fb2db4a3b4b1b4a9a3e9c4f1d" * 2
    edit(generation.path / "manifest.json", json.dumps(seal))
    problems = Store(a_layout(tmp_path)).verify(1)
    assert problems[0] == "generation 1: manifest.json was edited: it is not what the journal recorded"


def test_a_lost_journal_is_noticed(generation: Generation, tmp_path: Path) -> None:
    store = Store(a_layout(tmp_path))
    store.journal.path.unlink()
    assert store.verify(1) == ["generation 1: the journal does not know it"]
    assert store.next_number() == 2


@pytest.mark.parametrize("section", ["plan", "about", "seal"])
def test_a_section_that_was_cut_short_is_named(generation: Generation, tmp_path: Path, section: str) -> None:
    name = {"seal": "manifest.json"}.get(section, f"{section}.json")
    content = (generation.path / name).read_text()
    edit(generation.path / name, content[: len(content) // 2])
    read = Store(a_layout(tmp_path)).generation(1)
    with pytest.raises(PdlaunchError, match=rf"generation 1: {name} (was cut short|cannot be read)") as caught:
        getattr(read, section)
    assert "pdlaunch rollback --to" in str(caught.value.hint)


def test_what_a_newer_pdlaunch_wrote_is_said(generation: Generation, tmp_path: Path) -> None:
    seal = json.loads((generation.path / "manifest.json").read_text())
    edit(generation.path / "manifest.json", json.dumps({**seal, "format": 2, "more": 1}))
    with pytest.raises(PdlaunchError, match="generation 1 was written by a newer pdlaunch") as caught:
        _ = Store(a_layout(tmp_path)).generation(1).plan
    assert caught.value.hint is not None


def test_a_plan_that_this_version_does_not_know_names_the_one_that_wrote_it(
    generation: Generation, tmp_path: Path
) -> None:
    plan = json.dumps({**json.loads((generation.path / "plan.json").read_text()), "added_later": 1})
    edit(generation.path / "plan.json", plan)
    seal = json.loads((generation.path / "manifest.json").read_text())
    seal["files"]["plan.json"] = hashlib.sha256(plan.encode()).hexdigest()
    edit(generation.path / "manifest.json", json.dumps(seal))
    with pytest.raises(PdlaunchError, match=f"generation 1 was written by pdlaunch {__version__}; .* its plan"):
        _ = Store(a_layout(tmp_path)).generation(1).plan


@settings(deadline=None)
@given(st.binary(max_size=200))
@example(b"[" * 100_000)
def test_whatever_stands_there_ends_in_one_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        layout = a_layout(Path(folder))
        for name in ("manifest.json", "plan.json", "about.json"):
            (layout.generation(1)).mkdir(parents=True, exist_ok=True)
            (layout.generation(1) / name).write_bytes(content)
        read = Store(layout).generation(1)
        for section in ("seal", "plan", "about"):
            with pytest.raises(PdlaunchError, match=r"^generation 1"):
                getattr(read, section)
