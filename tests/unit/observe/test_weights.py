"""Whether a model's files are whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launcher.observe.weights import weights


def shard(path: Path, size: int = 64, *, cut: int = 0) -> None:
    header = json.dumps({"__metadata__": {}, "x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    data = len(header).to_bytes(8, "little") + header + bytes(size)
    path.write_bytes(data[: len(data) - cut])


def model(folder: Path, *names: str) -> Path:
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    for name in names:
        shard(folder / name)
    index = {"weight_map": {f"layer.{i}": name for i, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def test_a_whole_model(tmp_path: Path) -> None:
    found = weights(str(model(tmp_path, "a.safetensors", "b.safetensors")))
    assert (found.present, found.files, found.missing, found.broken) == (True, 2, (), ())
    assert found.size == sum(path.stat().st_size for path in tmp_path.glob("*.safetensors"))


def test_a_shard_that_the_index_names_and_nobody_fetched(tmp_path: Path) -> None:
    model(tmp_path, "a.safetensors", "b.safetensors")
    (tmp_path / "b.safetensors").unlink()
    found = weights(str(tmp_path))
    assert (found.files, found.missing) == (1, ("b.safetensors",))


def test_config_and_tokenizer_belong_to_it(tmp_path: Path) -> None:
    model(tmp_path, "a.safetensors")
    (tmp_path / "config.json").unlink()
    (tmp_path / "tokenizer.json").unlink()
    assert weights(str(tmp_path)).missing == ("config.json", "a tokenizer")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty: 0 bytes"),
        (b"\xff\xff\xff\x7f\0\0\0\0{}", "is cut short: its header alone takes 2147483647 of 10 bytes"),
        (b"\x02\0\0\0\0\0\0\0[]", "has no readable header"),
        (b"\x02\0\0\0\0\0\0\0\xff\xff", "has no readable header"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "is a pointer of Git LFS: the weights were not fetched (git lfs pull)",
        ),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, content: bytes, fault: str) -> None:
    model(tmp_path, "a.safetensors")
    (tmp_path / "a.safetensors").write_bytes(content)
    assert weights(str(tmp_path)).broken == (("a.safetensors", fault),)


def test_a_download_that_was_cut(tmp_path: Path) -> None:
    model(tmp_path, "a.safetensors")
    size = (tmp_path / "a.safetensors").stat().st_size
    shard(tmp_path / "a.safetensors", cut=10)
    (tmp_path / "b.incomplete").write_bytes(b"")
    found = weights(str(tmp_path))
    assert found.broken == (("a.safetensors", f"has {size - 10} bytes, but its header says {size}"),)
    assert found.unfinished == ("b.incomplete",)


@pytest.mark.parametrize("index", ["{", "[]", '{"weight_map": 1}', '{"weight_map": {}}'])
def test_an_index_that_is_none(tmp_path: Path, index: str) -> None:
    model(tmp_path, "a.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(index)
    assert weights(str(tmp_path)).broken == (("model.safetensors.index.json", "is no index of weights"),)


def test_a_name_of_the_hub_is_not_looked_up(tmp_path: Path) -> None:
    assert weights("org/model").present is False
    (tmp_path / "model.gguf").write_bytes(b"x")
    assert weights(str(tmp_path / "model.gguf")).present is True
