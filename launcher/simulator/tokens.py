"""Text to tokens and back, and the tokens the simulator generates: all a function of the prompt, so answers repeat."""

import re
import zlib
from typing import Final

VOCABULARY: Final = 32_000
NATURAL_END: Final = 16
"""Tokens of an answer whose request names no limit: then it ends by itself, as a model would."""

# About four characters a token, as real tokenizers do on English; a word of up to four letters is one.
_PIECE: Final = re.compile(r"\s?\S{1,4}|\s")


def encode(text: str) -> list[int]:
    """Token ids of a text; the same text has the same ids in every process."""
    return [zlib.crc32(piece.encode()) % VOCABULARY for piece in _PIECE.findall(text)]


def digest(prompt: list[int]) -> int:
    """A number that differs, but for accident, when two prompts differ."""
    return zlib.crc32(",".join(map(str, prompt)).encode())


def generate(prompt_digest: int, position: int) -> int:
    """The id of the token at a position of the answer to a prompt."""
    return zlib.crc32(b"%d/%d" % (prompt_digest, position)) % VOCABULARY


def decode(ids: list[int], start: int = 0) -> str:
    """The text of generated ids, of which the first stands at position `start` of its answer."""
    words = [f" sim{token}" for token in ids]
    return "".join(words) if start or not words else "[simulator]" + "".join(words)
