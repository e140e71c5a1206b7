"""What a profile may say: the grammar as frozen models.

The loader has already turned YAML into text where text is meant (`args`, `env`, `secrets`), durations into
seconds and token counts into numbers; these models hold the result and refuse what is not in the grammar.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from launcher.frozen import Frozen

ArgValue: TypeAlias = bool | str | tuple[str, ...] | None
"""A flag's value as written: a switch, text, several texts, or None, which takes the flag away.

A YAML mapping has already become its JSON text."""
EnvValue: TypeAlias = bool | str | None
"""A variable's value as written; the planner spells a bool the way its reader parses it."""


class Settings(Frozen):
    """Flags, variables and secrets at one level; the most specific level wins."""

    args: Mapping[str, ArgValue] = Field(default_factory=dict)
    env: Mapping[str, EnvValue] = Field(default_factory=dict)
    secrets: Mapping[str, str | None] = Field(default_factory=dict)
    """Variable name to the file that holds its value."""


class Model(Frozen):
    """The weights and the name that clients send as ``model``."""

    path: str | None = None
    """None is the engine's own tiny model, for the engines that bring one (cpu, simulator)."""
    name: str
    revision: str | None = None


class Engine(Settings):
    """The serving environment, and what prefill and decode share."""

    kind: Literal["sglang", "cpu", "simulator"] = "sglang"
    venv: str | None = None
    """A path, or the name of a registered environment."""
    version: str | None = None
    """Refuse to start on another one."""
    source: str | None = None
    """A checkout put in front of the installed package."""
    user: str | None = None
    host: str = "127.0.0.1"


class Replica(Settings):
    """One server of a role: its cards, its ports, and what only it is told."""

    gpus: tuple[int, ...] = ()
    tp: int | None = Field(default=None, ge=1)
    dp: int | None = Field(default=None, ge=1)
    ep: int | None = Field(default=None, ge=1)
    port: int | None = Field(default=None, ge=1, le=65535)
    bootstrap_port: int | None = Field(default=None, ge=1, le=65535)
    nccl_port: int | None = Field(default=None, ge=1, le=65535)


class Role(Replica):
    """A role: settings of all its servers, and the servers where there are several."""

    replicas: tuple[Replica, ...] = ()


class Router(Settings):
    """What stands in front and is talked to by clients."""

    kind: Literal["sglang-router"] = "sglang-router"
    venv: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(ge=1, le=65535)
    metrics_port: int | None = Field(default=None, ge=1, le=65535)


class Ready(Frozen):
    """What `up` waits for."""

    within: float = 1800.0
    """Seconds."""
    prompt: int | None = Field(default=None, ge=1)
    """Tokens of the first prompt; None is two chunks and one token."""
    probe: str = "none"
    """``none`` or ``ladder:TOKENS``, such as ``ladder:64k``."""


class Stop(Frozen):
    """How long running requests may finish, and when the whole tree goes. Seconds."""

    drain: float = 60.0
    kill: float = 90.0


class Restart(Frozen):
    """How often a server that died is started again."""

    tries: int = Field(default=3, ge=0)
    within: float = 1800.0
    """Seconds."""


class Watch(Frozen):
    """What to do on a hang, and how often."""

    on_hang: str = "collect"
    """``none`` (nobody watches), ``collect``, ``restart`` or ``rollback:NAME``."""
    after: float = Field(default=10.0, gt=0)
    """Seconds without progress, with work there, after which a server counts as hung."""
    times: int = Field(default=2, ge=0)
    """How often to act; evidence is frozen each time."""
    within: float = 3600.0
    """Seconds over which `times` is counted."""
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Of the watcher's own metrics; None where there are none."""


class SiteKnob(Frozen):
    """A declaration for a name that only this engine tree knows."""

    safe: str | tuple[str, ...] | None = None
    bad: Mapping[str, str] = Field(default_factory=dict)
    """Value to what it does."""
    why: str | None = None


class Waiver(Frozen):
    """A known deviation: what is allowed, why, by whom and until when."""

    what: str
    claim: str | None = None
    """What is said against the value, where it is known bad."""
    why: str
    by: str
    until: dt.date

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A waiver without a claim is written, and digested, as before there were any."""
        written: dict[str, Any] = write(self)
        return {key: value for key, value in written.items() if key != "claim" or value is not None}


class Profile(Frozen):
    """A deployment as a person writes it."""

    name: str
    model: Model
    engine: Engine
    prefill: Role | None = None
    decode: Role | None = None
    aggregated: Role | None = None
    router: Router | None = None
    transfer: Literal["nixl", "mooncake"] = "nixl"
    floor: float | None = None
    """Bytes a second that `doctor` must measure from prefill to decode; nothing that runs depends on it."""
    ready: Ready = Ready()
    stop: Stop = Stop()
    restart: Restart = Restart()
    watch: Watch = Watch()
    knobs: Mapping[str, SiteKnob] = Field(default_factory=dict)
    allow: tuple[Waiver, ...] = ()
    backend: Literal["systemd", "supervisord"] | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A profile without a floor is digested as before there were any."""
        written: dict[str, Any] = write(self)
        return {key: value for key, value in written.items() if key != "floor" or value is not None}
