"""The lock: what starts, byte for byte, and beside it who wrote that, when and from what.

`Intent` is the same on every machine with the same inputs and carries the digests. `About` is in none of them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from launcher.frozen import Frozen
from launcher.lock import digests, text
from launcher.plan.model import Argument, Origin, RoleName, Secret, Service, Variable
from launcher.profile.model import Ready, Restart, Stop, Waiver, Watch

SCHEMA = 1
"""Of the lock's YAML; a higher one was written by a newer pdlaunch."""


class Origins(Frozen):
    """Where the settings of one service came from."""

    argv: tuple[Origin, ...]
    """One for each part of the command."""
    env: Mapping[str, Origin]
    secrets: Mapping[str, Origin]


class LockedService(Frozen):
    """One process tree to start."""

    role: RoleName
    user: str | None
    host: str
    gpus: tuple[int, ...]
    ports: Mapping[str, int]
    """Purpose to port."""
    reserved: tuple[int, ...]
    """Ports that the engine opens beside its own."""
    argv: tuple[tuple[str, ...], ...] = Field(min_length=1)
    """The program, then one group of words for each flag."""
    env: Mapping[str, Annotated[str, AfterValidator(text.known)]]
    """Name to value, in the form of `launcher.lock.text`; without the digest, which follows from the rest."""
    secrets: Mapping[str, str]
    """Name to the file that holds the value."""

    def service(self, name: str, origins: Origins) -> Service:
        """The service as a plan has it, sealed."""
        env = []
        for variable, written in self.env.items():
            value, root = text.read(written)
            env.append(Variable(name=variable, value=value, root=root, origin=origins.env[variable]))
        plain = Service(
            name=name,
            role=self.role,
            argv=tuple(Argument(words=w, origin=o) for w, o in zip(self.argv, origins.argv, strict=True)),
            env=tuple(env),
            secrets=tuple(Secret(name=n, file=file, origin=origins.secrets[n]) for n, file in self.secrets.items()),
            gpus=self.gpus,
            host=self.host,
            ports=self.ports,
            user=self.user,
            reserved=self.reserved,
        )
        return plain.sealed()

    def digest(self, name: str) -> str:
        """`Service.digest`: equal digests need no restart."""
        nowhere = Origin(kind="pdlaunch")
        origins = Origins(
            argv=(nowhere,) * len(self.argv),
            env=dict.fromkeys(self.env, nowhere),
            secrets=dict.fromkeys(self.secrets, nowhere),
        )
        return self.service(name, origins).digest()


class Source(Frozen):
    """The engine's Python source."""

    path: str | None
    """The checkout that the profile names."""
    package: str | None
    """The folder that was read; None for the simulator, which is pdlaunch's own."""
    tree: str | None
    """Digest of the snapshot that the services run."""
    head: str | None
    """HEAD of the checkout."""
    edited: Mapping[str, str | None] | None
    """Files that differ from HEAD, or from what the package's RECORD says, with their SHA-256; None for one that is
    gone. None as a whole where there is neither HEAD nor RECORD to compare with."""


class Packages(Frozen):
    """The distributions of the engine's environment."""

    versions: Mapping[str, str]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.versions)

    @property
    def digest(self) -> str:
        """Over names and versions."""
        return digests.of(self.versions)


class LockedEngine(Frozen):
    """The engine that serves."""

    kind: Literal["sglang", "cpu", "simulator"]
    version: str
    source: Source
    packages: Packages


class LockedModel(Frozen):
    """The weights, and the name that clients send."""

    path: str
    name: str
    revision: str | None


class Transfer(Frozen):
    """What moves the KV cache from prefill to decode."""

    kind: str
    nixl: str | None
    """Its version."""
    ucx: str | None
    """SHA-256 of the UCX library inside the NIXL package, which carries no version."""


class LockedRouter(Frozen):
    """The router."""

    kind: Literal["sglang-router"]
    version: str


class Readiness(Ready):
    """What `up` waits for, and what makes its first prompt long enough."""

    chunk: int
    """Tokens of a prefill chunk."""
    context: int | None
    """Longest context in tokens, where it is known."""


class Intent(Frozen):
    """Everything that decides what runs."""

    deployment: str
    profile: str | None
    """Digest over what the profile means; None where there was none."""
    services: Mapping[str, LockedService] = Field(min_length=1)
    """In start order."""
    engine: LockedEngine
    model: LockedModel
    transfer: Transfer
    router: LockedRouter | None
    bundle: Mapping[str, str]
    """SHA-256 of each rendered file, rendered for no machine and without origins."""
    backend: Literal["systemd", "supervisord"]
    ready: Readiness
    stop: Stop
    restart: Restart
    watch: Watch
    allowed: tuple[Waiver, ...]

    @property
    def services_digests(self) -> dict[str, str]:
        """Digest by service."""
        return {name: service.digest(name) for name, service in self.services.items()}

    @property
    def digests(self) -> dict[str, str]:
        """Digest by section."""
        others = self.model_dump(mode="json", exclude={"deployment", "profile", "services"})
        # As locks were written before there was more to say: what nobody decided is in no digest.
        others["watch"] = {"on_hang": self.watch.on_hang} | self.watch.model_dump(mode="json", exclude_defaults=True)
        services = [[name, s.role, s.digest(name), *s.reserved] for name, s in self.services.items()]
        return {"services": digests.of(services)} | {name: digests.of(section) for name, section in others.items()}

    @property
    def digest(self) -> str:
        """Over everything: two locks with equal digests start the same."""
        return digests.of([self.deployment, self.profile, self.digests])


class About(Frozen):
    """Who wrote a lock, when, why and from what: in no digest."""

    generation: int | None
    written: dt.datetime
    by: str
    why: str | None
    source: str | None
    """The profile, or whatever else it was made from."""
    pdlaunch: str
    """The version that wrote it."""
    notes: tuple[str, ...]
    """What a reader of the plan should know."""
    origins: Mapping[str, Origins]
    """By service."""


class Lock(Frozen):
    """What starts, and where that came from."""

    intent: Intent
    about: About
