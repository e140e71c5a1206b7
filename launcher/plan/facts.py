"""What the planner is told about the world: the machine, the serving environment, the router, the snapshot.

Reading these facts is somebody else's work; a plan is a pure function of the profile and of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from launcher.frozen import Frozen

DEFAULT_EPHEMERAL = (32768, 60999)
"""Linux's default ``net.ipv4.ip_local_port_range``."""


class MachineFacts(Frozen):
    """What of this machine enters a plan."""

    home: str
    """HOME of the user that serves."""
    user: str
    python: str
    """The interpreter that runs pdlaunch, which also runs the simulator."""
    gpus: tuple[str, ...] | None = None
    """Model name of each card in PCI order; None where there is no driver."""
    driver: str | None = None
    cuda: str | None = None
    """Folder of the CUDA toolkit, such as /usr/local/cuda."""
    ephemeral: tuple[int, int] = DEFAULT_EPHEMERAL
    systemd: bool = False
    """Whether systemd is there for this user, and keeps what it runs when nobody is logged in."""


class Environment(Frozen):
    """A Python environment that serves: an engine's or a router's."""

    python: str
    version: str
    """Of the package that serves: sglang, sglang-router or the simulator."""
    distributions: Mapping[str, str] = {}
    """Installed distributions, name to version."""
    cuda: str | None = None
    """CUDA version that torch was built for; None for a CPU build."""


class Facts(Frozen):
    """Everything a plan depends on beside the profile."""

    machine: MachineFacts
    engine: Environment | None = None
    """None where the serving environment is not on this machine; the plan then says so."""
    router: Environment | None = None
    model_path: str | None = None
    """The engine's own model, for a profile that names none."""
    snapshot: str | None = None
    """Digest of the engine's source as it is now."""
    negatable: frozenset[str] = frozenset()
    """The engine's flags that have a ``--no-`` twin."""
