"""What one server is told: the most specific level wins, engine < role < replica."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from launcher.profile.loading import Loaded
from launcher.profile.model import ArgValue, EnvValue, Role, Settings
from launcher.profile.tree import KeyPath

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Written(Generic[T]):
    """A value, and where the profile gives it."""

    value: T
    path: KeyPath
    line: int


@dataclass(frozen=True, slots=True)
class Merged:
    """The settings of one server, in the order in which the names first appear.

    None is a ``~``: the profile takes the name away, from the launcher's own base as well.
    """

    args: Mapping[str, Written[ArgValue]]
    env: Mapping[str, Written[EnvValue]]
    secrets: Mapping[str, Written[str | None]]


def settings_of(loaded: Loaded, role: str, index: int = 0) -> Merged:
    """What replica `index` of `role` (``prefill``, ``decode``, ``aggregated``, ``router``) is told.

    The router shares nothing with the engine. A role that the profile does not have is told nothing.
    """
    args: dict[str, Written[ArgValue]] = {}
    env: dict[str, Written[EnvValue]] = {}
    secrets: dict[str, Written[str | None]] = {}
    for path, level in _levels(loaded, role, index):
        args |= _written(loaded, (*path, "args"), level.args)
        env |= _written(loaded, (*path, "env"), level.env)
        secrets |= _written(loaded, (*path, "secrets"), level.secrets)
    return Merged(args, env, secrets)


def _levels(loaded: Loaded, role: str, index: int) -> Iterator[tuple[KeyPath, Settings]]:
    profile = loaded.profile
    if role == "router":
        if profile.router:
            yield ("router",), profile.router
        return
    level: Role | None = getattr(profile, role)
    if level is None:
        return
    yield ("engine",), profile.engine
    yield (role,), level
    if level.replicas:
        yield (role, "replicas", index), level.replicas[index]


def _written(loaded: Loaded, path: KeyPath, values: Mapping[str, T]) -> dict[str, Written[T]]:
    return {name: Written(value, (*path, name), loaded.lines.at(*path, name)) for name, value in values.items()}
