"""The settings of one adopted server as a profile says them, and what it does not say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from launcher.adopt.finding import Found
from launcher.adopt.leaving import ENGINE_FLAGS, NOWHERE, ROUTER_FLAGS, why_left
from launcher.adopt.secrets import FLAGS as SECRET_FLAGS
from launcher.adopt.secrets import is_secret
from launcher.knobs import Abbreviation, EngineKnobs, Flag, find_flag

Value: TypeAlias = bool | str | list[str]


@dataclass(frozen=True, slots=True)
class Left:
    """Something that the profile does not say, or says in another way."""

    what: str
    """``LS_COLORS``, ``--tp-size 4``."""
    why: str
    kind: str
    """``variable``, ``owned``, ``flag``, ``spelling``, ``secret``."""


@dataclass(slots=True)
class ServerSettings:
    """One server's part of a profile."""

    args: dict[str, Value] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)


def settings(server: Found, files: Mapping[str, str], knobs: EngineKnobs | None) -> ServerSettings:
    """The flags and variables of `server` as `args`, `env` and `secrets`; `knobs` tell full names where known."""
    result = ServerSettings()
    owned = ROUTER_FLAGS if server.role == "router" else ENGINE_FLAGS
    for option in server.options.all:
        _flag(option.name, option.values, owned, knobs, files, result)
    for name, value in server.environ.items():
        if name in files:
            result.secrets[name] = files[name]
        elif is_secret(name) and value:
            result.left.append(Left(name, "a secret without a file", "secret"))
        elif why := why_left(name):
            result.left.append(Left(name, why, "variable"))
        elif name.startswith("PDLAUNCH_") and not name.startswith("PDLAUNCH_SIM_"):
            result.left.append(Left(name, "pdlaunch's own name", "variable"))
        else:
            result.env[name] = value
    return result


def _flag(
    written: str,
    values: tuple[str, ...],
    owned: Mapping[str, str],
    knobs: EngineKnobs | None,
    files: Mapping[str, str],
    result: ServerSettings,
) -> None:
    shown = f"--{written} {' '.join(values)}".strip() if written else " ".join(values)
    name, negated = full_name(written, knobs)
    if not written:
        result.left.append(Left(shown, "words that belong to no flag", "flag"))
    elif f"--{written}" in files or name in SECRET_FLAGS:
        result.left.append(
            Left(f"--{written}", "a key on the command line; a profile takes it only by name under `allow`", "secret")
        )
    elif name in NOWHERE:
        result.left.append(Left(shown, "nothing in a profile says this", "flag"))
    elif name in owned:
        result.left.append(Left(shown, owned[name], "owned"))
    else:
        if name != written.replace("_", "-"):
            result.left.append(Left(f"--{written}", f"written in full: {name}", "spelling"))
        result.args[name] = not negated if not values else values[0] if len(values) == 1 else list(values)


def full_name(written: str, knobs: EngineKnobs | None) -> tuple[str, bool]:
    """The full name of a flag, and whether it is written as its ``--no-`` twin."""
    name = written.replace("_", "-")
    found = find_flag(knobs, name) if knobs and name else None
    if isinstance(found, Abbreviation) and knobs and not found.ambiguous:
        found = find_flag(knobs, found.candidates[0])
    if isinstance(found, Flag):
        return found.name, name in found.negations
    return name, False
