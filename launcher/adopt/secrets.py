"""Which flags and variables hold secrets, and a command or script without them. Pure.

Adopted settings come from people who declared nothing, so names have to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from launcher.adopt.options import options

FLAGS = frozenset(
    {"api-key", "admin-api-key", "ssl-keyfile-password", "control-plane-api-keys", "oracle-password"}
    | {"postgres-password", "redis-password", "jwt-secret", "hf-token", "token"}
)
"""Flags of SGLang 0.5.23 and sglang-router 0.3.2 whose value is a secret, and names that others give such."""
VARIABLES = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HUGGINGFACE_TOKEN",
    "AWS_*SECRET*",
    "AWS_SESSION_TOKEN",
    "*_API_KEY",
    "*_API_KEYS",
    "*_ACCESS_KEY",
    "*_TOKEN",
    "*_SECRET",
    "*_SECRET_KEY",
    "*_PASSWORD",
    "*_PASSWD",
    "*_PRIVATE_KEY",
    "*_CREDENTIALS",
    "API_KEY",
    "PASSWORD",
    "SECRET",
    "TOKEN",
)
"""Patterns of variables whose value is a secret."""
CUT = "[cut out, kept in {file}]"
_SHORTEST = 4
"""A shorter value stands for too many other things to be searched for in a text."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets of one service, and its settings without them."""

    variables: Mapping[str, str]
    flags: Mapping[str, str]
    """Flag, dashes included, to its value."""
    words: tuple[tuple[str, ...], ...]
    """The server's own flags, one group each; of one whose value was cut, the words before the value."""


def is_secret(variable: str) -> bool:
    """Whether a variable of that name holds a secret."""
    return any(fnmatchcase(variable.upper(), pattern) for pattern in VARIABLES)


def secrets_of(flags: Sequence[str], environ: Mapping[str, str]) -> Secrets:
    """What of a server's own `flags` and of its environment is secret; an empty value is none."""
    found: dict[str, str] = {}
    groups: list[tuple[str, ...]] = []
    for option in options(flags):
        name, value = option.name.replace("_", "-"), option.values
        key = f"--{option.name}"
        if name in FLAGS and len(value) == 1 and value[0] and found.get(key, value[0]) == value[0]:
            found[key] = value[0]
            groups.append((f"{key}=",) if len(option.words) == 1 else (key,))
        else:
            groups.append(option.words)
    variables = {name: value for name, value in environ.items() if value and is_secret(name)}
    return Secrets(variables, found, tuple(groups))


def cut(text: str, files: Mapping[str, str]) -> str:
    """`text` with each secret value, the longest first, replaced by where it is kept; `files` is value to file."""
    for value in sorted((v for v in files if len(v) >= _SHORTEST), key=len, reverse=True):
        text = text.replace(value, CUT.format(file=files[value]))
    return cut_names(text)


_GIVEN = re.compile(
    r"(?P<before>(?:--(?:" + "|".join(map(re.escape, sorted(FLAGS, key=len, reverse=True))) + r")[ =]+)"
    r"|(?:\b(?P<name>[A-Za-z_][A-Za-z0-9_]*)=))(?P<value>\"[^\"$]*\"|'[^']*'|[^\s\"'$;|&)\[]+)"
)


def cut_names(text: str) -> str:
    """`text` without what it gives to a flag or a variable whose name says that it is a secret."""

    def without(match: re.Match[str]) -> str:
        if match["name"] is not None and not is_secret(match["name"]):
            return match[0]
        return f"{match['before']}[cut out]"

    return _GIVEN.sub(without, text)


def values(found: Iterable[Secrets]) -> frozenset[str]:
    """Every secret value."""
    return frozenset(value for secrets in found for value in (*secrets.variables.values(), *secrets.flags.values()))
