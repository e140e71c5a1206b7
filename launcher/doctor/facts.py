"""What the checks judge: everything that was read of this machine and of the deployment's parts, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from launcher.observe.card import Absent, Card, Cards
from launcher.observe.folders import Folder
from launcher.observe.holders import Holder
from launcher.observe.limits import Limits
from launcher.observe.pci import Paths
from launcher.observe.sockets import Listener
from launcher.observe.transfer import TransferFailed, Transferred
from launcher.observe.weights import Weights
from launcher.observe.xids import Xid
from launcher.plan.model import Plan, Service


@dataclass(frozen=True, slots=True)
class Software:
    """The environment that serves, read from its files."""

    path: str
    torch: str | None = None
    cuda: str | None = None
    """CUDA that torch was built for."""
    nixl: Mapping[str, str] = field(default_factory=dict)
    """Installed distributions of NIXL, name to version."""
    wheels: Mapping[str, str] = field(default_factory=dict)
    """NVIDIA's libraries that are installed for one version of CUDA, such as nvidia-nccl-cu13."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that was started to see whether it does."""

    command: str
    ok: bool
    said: str
    """Its last line."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of the plan that somebody listens on, and the ranges that others draw from."""

    held: Mapping[int, Listener]
    ephemeral: tuple[int, int]
    kept: frozenset[int]
    """Ports that the kernel keeps out of that range (net.ipv4.ip_local_reserved_ports)."""
    owners: Mapping[int, Holder]


@dataclass(frozen=True, slots=True)
class Facts:
    """What was gathered; what was not asked for is None."""

    plan: Plan | None = None
    """None: the machine alone is looked at."""
    ours: frozenset[int] = frozenset()
    """Pids of the deployment as it runs now."""
    root: bool = True
    """Whether services are started by root: systemd's units of the system, not of a user."""
    nodes: int = 1
    """NUMA nodes."""
    containers: bool = False
    """Whether this is a container, where the driver's pids are another namespace's."""
    cards: Cards | Absent | None = None
    holders: Mapping[int, Holder] = field(default_factory=dict)
    """Who stands behind the pids on the cards; one that cannot be seen from here is absent."""
    recorded: Mapping[int, str] | None = None
    """Index to UUID of the cards that the current generation was started on."""
    xids: tuple[Xid, ...] | str | None = None
    paths: Paths | None = None
    software: Software | None = None
    toolkit: str | None = None
    """CUDA of the nvcc on the services' PATH."""
    tools: Mapping[str, str | None] | None = None
    """Program to its path on the services' PATH; None where it is not there."""
    kernels: bool = False
    """Whether compiled kernels are kept from earlier starts."""
    folders: Mapping[str, Folder] = field(default_factory=dict)
    """Purpose to folder: state, cache, temporary."""
    shell: Limits | None = None
    daemon: Limits | None = None
    """Of the supervisor that runs and that services inherit from."""
    shared: int | None = None
    """Bytes of /dev/shm."""
    ports: Ports | None = None
    transferred: Transferred | TransferFailed | None = None
    no_transfer: str | None = None
    """Why none was made, where one makes sense."""
    floor: float | None = None
    """Bytes a second that the profile asks of a transfer."""
    imported: Ran | None = None
    router: Ran | None = None
    weights: Weights | None = None

    @property
    def servers(self) -> tuple[Service, ...]:
        """Those of the plan that have cards."""
        return tuple(service for service in (self.plan.services if self.plan else ()) if service.gpus)

    @property
    def wanted(self) -> tuple[int, ...]:
        """Every card that the plan names; without a plan every card there is."""
        if self.plan is None:
            return tuple(card.index for card in self.cards.cards) if isinstance(self.cards, Cards) else ()
        return tuple(sorted({gpu for server in self.servers for gpu in server.gpus}))

    @property
    def present(self) -> tuple[Card, ...]:
        """The cards that are meant and that answer."""
        found = self.cards.cards if isinstance(self.cards, Cards) else ()
        return tuple(card for card in found if card.index in self.wanted)

    @property
    def kind(self) -> str | None:
        """Of the plan's engine."""
        return self.plan.engine.kind if self.plan else None
