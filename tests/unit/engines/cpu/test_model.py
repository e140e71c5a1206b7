from __future__ import annotations

import hashlib
import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest

from launcher.engines.cpu import model


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return model.files()


def weights(files: dict[str, bytes]) -> tuple[dict[str, Any], bytes]:
    """Header and data of the weights file."""
    content = files["model.safetensors"]
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def values(files: dict[str, bytes], name: str) -> list[float]:
    """A tensor's numbers."""
    header, data = weights(files)
    start, end = header[name]["data_offsets"]
    return [v for (v,) in struct.iter_unpack("<f", b"".join(b"\0\0" + data[i : i + 2] for i in range(start, end, 2)))]


def test_the_same_bytes_on_every_machine(files: dict[str, bytes]) -> None:
    digest = hashlib.sha256(b"".join(name.encode() + content for name, content in sorted(files.items())))
    assert digest.hexdigest() == "cabd669f4d28502c2477d1bd6dc37fdd5309145359f97bc04b39896f6ae45091"


def test_every_tensor_fills_its_place_in_the_file(files: dict[str, bytes]) -> None:
    header, data = weights(files)
    end = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            assert tensor["data_offsets"][0] == end
            end = tensor["data_offsets"][1]
            assert end - tensor["data_offsets"][0] == 2 * math.prod(tensor["shape"])
    assert end == len(data)


def test_weights_have_the_spread_that_keeps_activations_near_one(files: dict[str, bytes]) -> None:
    for name, deviation in {
        "model.embed_tokens.weight": 0.5,
        "model.layers.0.self_attn.v_proj.weight": 1 / 16,
        "model.layers.1.self_attn.q_proj.weight": 2 / 16,
        "model.norm.weight": 0.0,
    }.items():
        numbers = values(files, name)
        mean = sum(numbers) / len(numbers)
        spread = math.sqrt(sum((v - mean) ** 2 for v in numbers) / len(numbers))
        assert spread == pytest.approx(deviation, rel=0.02), name


def test_only_letters_and_space_can_be_answered(files: dict[str, bytes]) -> None:
    rows = values(files, "lm_head.weight")
    spoken = {n for n in range(model.VOCABULARY) if any(rows[n * model.HIDDEN : (n + 1) * model.HIDDEN])}
    assert spoken == set(b" abcdefghijklmnopqrstuvwxyz")


def test_a_token_is_a_byte(files: dict[str, bytes]) -> None:
    tokenizer = json.loads(files["tokenizer.json"])
    vocabulary: dict[str, int] = tokenizer["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(259))
    # GPT-2's table: printable bytes stand for themselves, the others for characters from U+0100 on.
    assert (vocabulary["A"], vocabulary["Ġ"], vocabulary["Ċ"], vocabulary["é"]) == (65, 32, 10, 0xE9)
    assert {t["content"]: t["id"] for t in tokenizer["added_tokens"]} == {"<s>": 256, "</s>": 257, "<pad>": 258}


def test_configuration_and_tokenizer_agree(files: dict[str, bytes]) -> None:
    config, tokenizer = json.loads(files["config.json"]), json.loads(files["tokenizer_config.json"])
    assert config["vocab_size"] >= 259
    assert config["eos_token_id"] == json.loads(files["generation_config.json"])["eos_token_id"] == 257
    assert tokenizer["model_max_length"] == config["max_position_embeddings"]
    assert config["hidden_size"] == config["num_attention_heads"] * config["head_dim"]


def test_the_folder_holds_the_model_and_nothing_else(tmp_path: Path, files: dict[str, bytes]) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "chat_template.jinja").write_text("of another model")
    model.write(tmp_path / "model")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == files
