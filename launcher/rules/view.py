"""What the rules look at: the settings of each service as it will get them, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from launcher.profile import ArgValue


@dataclass(frozen=True, slots=True)
class ServiceView:
    """One service. What a profile takes away is absent; a bool variable is ``1`` or ``0``."""

    name: str
    """``decode-0``, ``router``."""
    role: str
    args: Mapping[str, ArgValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    def number(self, section: str, name: str) -> float | None:
        """The setting as a number; None where it is not set, or not one."""
        value = getattr(self, section).get(name)
        return float(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,12}(\.\d+)?", value) else None


@dataclass(frozen=True, slots=True)
class View:
    """A deployment: its services in start order, and what they share."""

    services: tuple[ServiceView, ...]
    engine: str = "sglang"
    """``sglang``, ``cpu`` or ``simulator``."""
    transfer: str = "nixl"
    model: str = ""
    """Path and served name of the model, which are all that is known of it here."""

    def of(self, *roles: str) -> Iterator[ServiceView]:
        """The services of these roles."""
        return (service for service in self.services if service.role in roles)

    @property
    def split(self) -> bool:
        """Whether prefill and decode are apart."""
        return any(self.of("prefill", "decode"))

    @property
    def is_deepseek_v4(self) -> bool:
        """Whether the model's name says DeepSeek-V4, whose page size the engine forces to 256."""
        return re.search(r"deepseek[-_ ]?v4|dsv4", self.model, re.IGNORECASE) is not None


def pair(
    prefill: ServiceView | None = None,
    decode: ServiceView | None = None,
    router: ServiceView | None = None,
    model: str = "",
) -> View:
    """A prefill, a decode and a router, for a rule's examples."""
    services = (prefill or service("prefill"), decode or service("decode"), router or service("router"))
    return View(services, model=model)


def service(role: str, args: Mapping[str, ArgValue] | None = None, env: Mapping[str, str] | None = None) -> ServiceView:
    """One service, for a rule's examples."""
    return ServiceView("router" if role == "router" else f"{role}-0", role, args or {}, env or {})
