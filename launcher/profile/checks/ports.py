"""Whether the written ports can all be opened: none twice, and none where others draw theirs at random."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile.findings import Finding
from launcher.profile.lines import Lines
from launcher.profile.model import Profile
from launcher.profile.serving import servers
from launcher.profile.tree import KeyPath, dotted

EPHEMERAL = range(32768, 61000)
"""Linux's default net.ipv4.ip_local_port_range, https://docs.kernel.org/networking/ip-sysctl.html."""
NCCL_RANDOM = range(22000, 30000)
"""SGLang 0.5.23 draws the port of its distributed set-up from here unless told one (measured)."""


def check_ports(profile: Profile, lines: Lines) -> Iterator[Finding]:
    """Find ports that collide, and warn of those that another process may hold by chance."""
    first: dict[int, KeyPath] = {}
    for path, port in _written(profile):
        if port in first:
            other = first[port]
            error = f"{port} is {dotted(other)} as well, line {lines.at(*other)}"
            yield Finding(path, error, "another port, or delete the line and one is assigned")
            continue
        first[port] = path
        if port in EPHEMERAL:
            error = "the kernel gives ports from 32768 to 60999 to outgoing connections: it may be taken at the start"
            yield Finding(path, error, "a port from 30000 to 32767", severity="warning")
        elif port in NCCL_RANDOM:
            error = "SGLang draws ports from 22000 to 29999 at random: it may be taken at the start"
            yield Finding(path, error, "a port from 30000 to 32767", severity="warning")


def _written(profile: Profile) -> Iterator[tuple[KeyPath, int]]:
    if profile.router:
        yield ("router", "port"), profile.router.port
        if profile.router.metrics_port is not None:
            yield ("router", "metrics_port"), profile.router.metrics_port
    if profile.watch.metrics_port is not None:
        yield ("watch", "metrics_port"), profile.watch.metrics_port
    for server in servers(profile):
        for key in ("port", "bootstrap_port", "nccl_port"):
            port = getattr(server.keys, key)
            if port is not None:
                yield (*server.path, key), port
