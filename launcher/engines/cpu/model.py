"""The tiny model: a Llama with seeded random weights and one token per byte, made without any library.

It answers with nonsense, but as a real checkpoint does: the same prompt gets the same letters, another prompt others.
Token ids are byte values, so a prompt has exactly as many tokens as bytes, and only letters and spaces have a row
other than zero in the output layer, so that answers are readable and never end by themselves.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import struct
from array import array
from pathlib import Path
from typing import Any

SEED = 20260711
HIDDEN, INNER, LAYERS, HEADS, HEAD = 256, 512, 2, 4, 64
BYTES = 256
SPECIAL = ("<s>", "</s>", "<pad>")
VOCABULARY = 320
"""Bytes and special tokens, rounded up so that the rows divide among tensor-parallel ranks."""
CONTEXT = 32768
"""Longest context in tokens that the model says it takes."""
CHAT = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
SPOKEN = frozenset(b" abcdefghijklmnopqrstuvwxyz")
_LOGIT = 6.0
"""Standard deviation of a spoken byte's logit; the silent ones stay at 0 and are practically never sampled."""


def files() -> dict[str, bytes]:
    """Every file of the model's folder; the same bytes on every machine and Python."""
    return {
        "config.json": _json(_config()),
        "generation_config.json": _json(_special_ids()),
        "tokenizer.json": _json(_tokenizer()),
        "tokenizer_config.json": _json(_tokenizer_config()),
        "model.safetensors": _safetensors(_weights()),
    }


def write(folder: Path) -> None:
    """Make `folder` hold exactly the model."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files().items():
        (folder / name).write_bytes(content)


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()


def _special_ids() -> dict[str, int]:
    return {"bos_token_id": BYTES, "eos_token_id": BYTES + 1, "pad_token_id": BYTES + 2}


def _config() -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HEAD,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": False,
        "vocab_size": VOCABULARY,
        **_special_ids(),
    }


def _printable() -> list[str]:
    """The character that the byte-level scheme of GPT-2 writes for each byte."""
    plain = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(BYTES, 2 * BYTES))
    return [chr(byte if byte in plain else next(others)) for byte in range(BYTES)]


def _tokenizer() -> dict[str, Any]:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": BYTES + n, "content": text, **flags} for n, text in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text: token for token, text in enumerate((*_printable(), *SPECIAL))},
            "merges": [],
        },
    }


def _tokenizer_config() -> dict[str, Any]:
    bos, eos, pad = SPECIAL
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": bos,
        "eos_token": eos,
        "pad_token": pad,
        "model_max_length": CONTEXT,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT,
    }


def _weights() -> dict[str, tuple[tuple[int, ...], bytes]]:
    """Name to shape and bfloat16 bytes, in the order in which the file holds them."""
    source = random.Random(SEED)  # noqa: S311 - weights, not secrets
    ones = (HIDDEN,), _bfloat16([1.0] * HIDDEN)

    def matrix(rows: int, columns: int, deviation: float) -> tuple[tuple[int, ...], bytes]:
        # Uniform, not normal: Python promises the stream of random() across versions, and of nothing else.
        reach = deviation * math.sqrt(3)
        return (rows, columns), _bfloat16([reach * (2 * source.random() - 1) for _ in range(rows * columns)])

    def layer(number: int) -> dict[str, tuple[tuple[int, ...], bytes]]:
        # One over the root of the inputs keeps every activation near 1, so that attention picks some bytes over
        # others and the answer depends on the whole prompt.
        wide, narrow = 1 / math.sqrt(HIDDEN), 1 / math.sqrt(INNER)
        parts = {
            "input_layernorm": ones,
            "self_attn.q_proj": matrix(HIDDEN, HIDDEN, 2 * wide),
            "self_attn.k_proj": matrix(HIDDEN, HIDDEN, 2 * wide),
            "self_attn.v_proj": matrix(HIDDEN, HIDDEN, wide),
            "self_attn.o_proj": matrix(HIDDEN, HIDDEN, wide),
            "post_attention_layernorm": ones,
            "mlp.gate_proj": matrix(INNER, HIDDEN, wide),
            "mlp.up_proj": matrix(INNER, HIDDEN, wide),
            "mlp.down_proj": matrix(HIDDEN, INNER, narrow),
        }
        return {f"model.layers.{number}.{name}.weight": part for name, part in parts.items()}

    tensors = {"model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN, 0.5)}
    for number in range(LAYERS):
        tensors |= layer(number)
    shape, rows = matrix(VOCABULARY, HIDDEN, _LOGIT / math.sqrt(HIDDEN))
    row = 2 * HIDDEN
    spoken = (rows[n * row : (n + 1) * row] if n in SPOKEN else bytes(row) for n in range(VOCABULARY))
    return tensors | {"model.norm.weight": ones, "lm_head.weight": (shape, b"".join(spoken))}


def _bfloat16(values: list[float]) -> bytes:
    """The upper half of each float32, little-endian."""
    singles = array("f", values)
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        singles.byteswap()
    whole = singles.tobytes()
    halves = bytearray(len(whole) // 2)
    halves[0::2], halves[1::2] = whole[2::4], whole[3::4]
    return bytes(halves)


def _safetensors(tensors: dict[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    """The file format of https://huggingface.co/docs/safetensors: header length, JSON header, data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": (end, end + len(data))}
        end += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values())
