"""What the engine made of a start: read from its own answer and its processes, and redacted before it is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar

from pydantic import JsonValue

from launcher.frozen import Frozen
from launcher.lock.record import Record

SECRET_KEYS = frozenset({"api_key", "admin_api_key", "ssl_keyfile_password", "launch_command"})
"""Fields of /server_info that hold keys; the last repeats the command line with all of them."""
LEFT_OUT = "(left out: it holds a secret)"
_TELLING = 6
_PER_START = frozenset({"random_seed", "internal_states", "startup_time", "last_gen_throughput", "env_vars", "status"})
"""Fields that differ at each start, or are kept apart."""
_VARIABLES_PER_START = frozenset({"SGLANG_RUN_ID", "PROMETHEUS_MULTIPROC_DIR"})
"""Variables that SGLang 0.5.23 makes up anew at each start: no two starts would be equal with them."""


class Resolved(Frozen):
    """A value that came out otherwise than it was asked for."""

    asked: str
    gets: JsonValue


class ObservedService(Frozen):
    """One service after its start."""

    pid: int
    started: int
    """Clock ticks since boot."""
    answered: bool
    """Whether the server told its values; a router has none to tell."""
    resolved: Mapping[str, Resolved]
    """Flags that the engine set to something else."""
    decided: Mapping[str, JsonValue]
    """What the engine decided where nothing was asked."""
    measured: Mapping[str, JsonValue]
    """What it found out while loading: pool sizes, memory."""
    environment: Mapping[str, tuple[str, ...]]
    """Variables that the engine set for itself; several values where its processes differ."""


class Observed(Record):
    """What runs after a start."""

    kind: ClassVar[str] = "observed"
    comment: ClassVar[str] = "What the engine made of it after the start. Keys and secrets were left out before."

    boot: str
    """The kernel's boot id, without which a pid means nothing."""
    services: Mapping[str, ObservedService]


def redacted(value: Any, secrets: Iterable[str] = ()) -> Any:
    """`value` without the fields that hold keys, at any depth, and without any text that holds one of `secrets`.

    A number has the one form that a record gives back: 2.0 is 2, and one that is not finite is a word.
    """
    hidden = tuple(secrets)
    if isinstance(value, dict):
        return {key: redacted(inner, hidden) for key, inner in value.items() if key not in SECRET_KEYS}
    if isinstance(value, list):
        return [redacted(inner, hidden) for inner in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() else value if math.isfinite(value) else str(value)
    return LEFT_OUT if isinstance(value, str) and _tells(value, hidden) else value


def _tells(text: str, secrets: Iterable[str]) -> bool:
    """Whether a text holds a secret; one of a few letters would be found everywhere, so that must be the whole."""
    return any(secret in text if len(secret) >= _TELLING else secret == text for secret in secrets if secret)


def asked(argv: Iterable[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The flags of a command by the name of the field that they set; a switch has no values, ``--no-x`` sets x."""
    found = {}
    for words in argv:
        flag, joined, value = words[0].partition("=")
        if flag.startswith("--"):
            found[flag.removeprefix("--").replace("-", "_")] = (value, *words[1:]) if joined else words[1:]
    return found


def resolved(said: Mapping[str, Any], flags: Mapping[str, tuple[str, ...]]) -> dict[str, Resolved]:
    """The flags whose field in the server's answer is not what was asked for."""
    found = {}
    for flag, words in flags.items():
        negated = flag not in said and flag.startswith("no_")
        key = flag.removeprefix("no_") if negated else flag
        fits = said.get(key) is False if negated else _means(words, said.get(key))
        if key in said and key not in SECRET_KEYS and not fits:
            found[key] = Resolved(asked=" ".join(words) or ("off" if negated else "on"), gets=said[key])
    return found


def decided(said: Mapping[str, Any], flags: Mapping[str, tuple[str, ...]]) -> dict[str, JsonValue]:
    """The fields that nobody asked for and that are not simply off."""
    chosen = flags.keys() | {name.removeprefix("no_") for name in flags} | _PER_START
    return {key: value for key, value in said.items() if key not in chosen and value not in (None, False, "", [], {})}


def measured(said: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What the first scheduler says that the arguments do not: the sizes of its pools."""
    states = said.get("internal_states")
    first = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    return {key: value for key, value in first.items() if key not in said and key not in _PER_START}


def set_by_engine(
    seen: Iterable[Mapping[str, str]], given: Mapping[str, str], secrets: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Variables of the environments `seen` that were not `given` so.

    `secrets` names variables; neither they nor another one that holds the value of one is among the answer, and none
    that every start makes up anew.
    """
    environments = [dict(environment) for environment in seen]
    values = values_of(environments, secrets)
    left_out = _VARIABLES_PER_START | frozenset(secrets)
    found: dict[str, set[str]] = {}
    for environment in environments:
        for name, value in environment.items():
            if name not in left_out and given.get(name) != value and not _tells(value, values):
                found.setdefault(name, set()).add(value)
    return {name: tuple(sorted(found[name])) for name in sorted(found)}


def values_of(environments: Iterable[Mapping[str, str]], secrets: Collection[str]) -> frozenset[str]:
    """The values that the variables called `secrets` have."""
    return frozenset(e[name] for e in environments for name in secrets if e.get(name))


def _means(words: tuple[str, ...], value: Any) -> bool:
    """Whether a field's value is what these words ask for."""
    if not words:
        return value is True
    if isinstance(value, list):
        return len(value) == len(words) and all(_means((word,), item) for word, item in zip(words, value, strict=True))
    return len(words) == 1 and (str(value) == words[0] or _parses_to(words[0], value))


def _parses_to(word: str, value: Any) -> bool:
    """Whether a word is another spelling of a value: ``1.0`` of 1, JSON of a mapping."""
    try:
        return bool(json.loads(word) == value)
    except ValueError:
        return False
