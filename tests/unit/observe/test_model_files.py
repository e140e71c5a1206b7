from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.observe import model_files as module
from launcher.observe.model_files import hash_weights, model_files

CONTENTS = {
    "config.json": "{}",
    "model.safetensors.index.json": "[]",
    "tokenizer/tokenizer.json": "t",
    "modeling_x.py": "a = 1\n",
    "model-00001-of-00002.safetensors": "w" * 100,
    "model-00002-of-00002.safetensors": "v" * 50,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """As a hub's cache lays it out: links to blobs."""
    folder = tmp_path / "model"
    for i, (name, text) in enumerate(CONTENTS.items()):
        blob = tmp_path / "blobs" / str(i)
        blob.parent.mkdir(exist_ok=True)
        blob.write_text(text)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(blob)
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x.json").write_text("{}")
    (folder / ".gitattributes").write_text("x")
    return folder


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def silent(_name: str, _done: int, _total: int) -> None:
    """Tells nobody."""


def test_what_decides_is_hashed_and_weights_are_told_by_their_stamps(model: Path, tmp_path: Path) -> None:
    found = model_files(str(model), tmp_path / "cache")
    assert found.present
    assert found.files.keys() == CONTENTS.keys()
    for name, file in found.files.items():
        status = (model / name).stat()
        assert file.size == status.st_size
        if name.endswith(".safetensors"):
            assert (file.sha256, file.mtime_ns, file.inode) == (None, status.st_mtime_ns, status.st_ino)
        else:
            assert (file.sha256, file.mtime_ns, file.inode) == (sha256(CONTENTS[name]), None, None)


def test_a_large_file_of_any_kind_is_taken_for_weights(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_HASHED", 1)
    found = model_files(str(model), tmp_path / "cache")
    assert found.files["config.json"].sha256 is None
    assert found.files["tokenizer/tokenizer.json"].sha256 == sha256("t")


@pytest.mark.parametrize("path", ["simulated-model", "deepseek-ai/DeepSeek-V4-Flash", "/nowhere/at/all"])
def test_a_name_that_is_no_folder_here_has_no_files(path: str, tmp_path: Path) -> None:
    found = model_files(path, tmp_path)
    assert (found.path, found.present, found.files) == (path, False, {})


def test_a_model_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("w")
    assert list(model_files(str(tmp_path / "x.gguf"), tmp_path / "cache").files) == ["x.gguf"]


def test_weights_read_in_full_are_read_once(model: Path, tmp_path: Path) -> None:
    cache, told = tmp_path / "cache", list[tuple[str, int, int]]()
    assert hash_weights(str(model), cache, lambda *said: told.append(said)) == 2
    assert told == [("model-00001-of-00002.safetensors", 0, 150), ("model-00002-of-00002.safetensors", 100, 150)]
    assert hash_weights(str(model), cache, silent) == 0
    found = model_files(str(model), cache).files
    assert found["model-00001-of-00002.safetensors"].sha256 == sha256("w" * 100)
    assert found["model-00002-of-00002.safetensors"].sha256 == sha256("v" * 50)


def test_a_weight_that_changed_is_read_again(model: Path, tmp_path: Path) -> None:
    cache, name = tmp_path / "cache", "model-00001-of-00002.safetensors"
    hash_weights(str(model), cache, silent)
    (model / name).write_text("x" * 100)
    os.utime(model / name, ns=(1, 1))
    assert model_files(str(model), cache).files[name].sha256 is None
    assert hash_weights(str(model), cache, silent) == 1
    assert model_files(str(model), cache).files[name].sha256 == sha256("x" * 100)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"x": 1}'])
def test_a_damaged_cache_costs_time_only(model: Path, tmp_path: Path, content: str) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "weights.json").write_text(content)
    assert model_files(str(model), cache).files["model-00001-of-00002.safetensors"].sha256 is None
    assert hash_weights(str(model), cache, silent) == 2


def test_a_weight_that_cannot_be_read_is_named(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PdlaunchError, match=r"cannot read .*model-00001-of-00002\.safetensors: Permission denied"):
        hash_weights(str(model), tmp_path / "cache", silent)
