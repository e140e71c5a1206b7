"""The resolved deployment: services in start order, each value with its origin.

A plan holds no absolute path of this machine's state: a value that lies in one is `rooted` and becomes absolute
when it is rendered, so that the same inputs give the same identity on any machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import Field

from launcher.frozen import Frozen
from launcher.profile.model import Ready, Restart, Stop, Waiver, Watch

Root: TypeAlias = Literal["state", "cache", "run"]
"""The deployment's own folder, the shared cache, the folder of sockets and pids."""
BackendName: TypeAlias = Literal["systemd", "supervisord"]
RoleName: TypeAlias = Literal["prefill", "decode", "aggregated", "router"]


MARK = "PDLAUNCH_SERVICE"
"""Names the service in each of its processes, children included: how they are found when their supervisor is gone."""
DIGEST = "PDLAUNCH_DIGEST"
"""The variable that tells, in each process, the digest of the service it was started as."""


class Origin(Frozen):
    """Where a value came from: a line of the profile, or the launcher itself."""

    kind: Literal["profile", "pdlaunch", "base", "engine", "adopted"]
    """``profile``: a person wrote it. ``pdlaunch``: owned by the launcher. ``base``: the declared base of every
    environment. ``engine``: needed by this kind of engine. ``adopted``: read from a process that somebody else had
    started."""
    file: str | None = None
    line: int | None = None
    note: str | None = None

    def __str__(self) -> str:
        """``dsv4-flash.yaml:52  gpus``, or ``pdlaunch``."""
        place = f"{self.file}:{self.line}" if self.line else self.file or self.kind
        return f"{place}  {self.note}" if self.note else place


class Argument(Frozen):
    """One line of a command: a flag with its values, or the program itself."""

    words: tuple[str, ...]
    origin: Origin


class Variable(Frozen):
    """One environment variable; with `root` set, `value` is a path below that root."""

    name: str
    value: str
    origin: Origin
    root: Root | None = None


class Secret(Frozen):
    """A variable, or a flag of the command, whose value is read from `file` when the service starts."""

    name: str
    """Of a flag with its dashes: the part of the command that ends in it, or in it and ``=``, gets the value."""
    file: str
    origin: Origin


class Service(Frozen):
    """One process tree to start: exact command, exact environment."""

    name: str
    """``prefill-0``, ``decode-0``, ``router``."""
    role: RoleName
    argv: tuple[Argument, ...]
    env: tuple[Variable, ...]
    secrets: tuple[Secret, ...] = ()
    gpus: tuple[int, ...] = ()
    host: str
    ports: Mapping[str, int]
    """Purpose (``http``, ``nccl``, ``bootstrap``, ``metrics``) to port."""
    user: str | None = None
    reserved: tuple[int, ...] = ()
    """Ports that the engine opens beside its own, such as the block of DP attention."""

    def words(self) -> tuple[str, ...]:
        """The command as the process receives it."""
        return tuple(word for argument in self.argv for word in argument.words)

    def origins(self) -> tuple[Origin, ...]:
        """Where each flag, variable and secret came from."""
        return tuple(setting.origin for settings in (self.argv, self.env, self.secrets) for setting in settings)

    def identity(self) -> dict[str, Any]:
        """What decides whether the service must restart: no order, origin or line number."""
        head, *flags = self.argv
        return {
            "program": list(head.words),
            "flags": sorted([list(flag.words) for flag in flags]),
            "env": {v.name: ({v.root: v.value} if v.root else v.value) for v in self.env if v.name != DIGEST},
            "secrets": {s.name: s.file for s in self.secrets},
            "gpus": list(self.gpus),
            "host": self.host,
            "ports": dict(self.ports),
            "user": self.user,
        }

    def sealed(self) -> Service:
        """The service with its own digest in its environment, so that what runs can be told from what should run."""
        own = Variable(name=DIGEST, value=self.digest(), origin=Origin(kind="pdlaunch"))
        return self.model_copy(update={"env": (*(v for v in self.env if v.name != DIGEST), own)})

    def digest(self) -> str:
        """SHA-256 over `identity`; equal digests need no restart."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()


class EngineUse(Frozen):
    """The engine that a plan was made for."""

    kind: Literal["sglang", "cpu", "simulator"]
    version: str
    source: str | None = None
    """The folder whose package was snapshotted, where there is a checkout."""
    snapshot: str | None = None
    """Digest of the engine snapshot that the services run."""


class Plan(Frozen):
    """A deployment that can be rendered and started."""

    deployment: str
    model_path: str
    model_name: str
    engine: EngineUse
    transfer: str
    services: tuple[Service, ...]
    """In start order."""
    chunk: int
    """Tokens of a prefill chunk, as far as the command line says it; else the engine's usual 8192."""
    context: int | None
    """Longest context in tokens, where the profile says it."""
    ready: Ready
    stop: Stop
    restart: Restart
    watch: Watch = Watch()
    on_hang: str | None = Field(default=None, exclude=True)
    """In plans that were recorded while nothing acted on it: read, and left at that."""
    allowed: tuple[Waiver, ...] = ()
    backend: BackendName
    notes: tuple[str, ...] = Field(default=())
    """What a reader should know: a GPU list with holes, an assigned port."""

    def service(self, name: str) -> Service | None:
        """The service called `name`, or None."""
        return next((s for s in self.services if s.name == name), None)
