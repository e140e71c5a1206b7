"""What a signature is judged by: the look, and what is remembered of each service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from launcher.watch.floors import Floors
from launcher.watch.sample import Look, Server
from launcher.watch.track import Track
from launcher.watch.verdict import Finding, Weight

ROLES_THAT_SERVE = ("prefill", "decode", "aggregated")


@dataclass(frozen=True, slots=True)
class Member:
    """One server of the deployment, as the plan has it."""

    name: str
    role: str
    url: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One look with its past."""

    look: Look
    now: float
    """On the clock of the looks, which stands still while nobody looks."""
    members: Mapping[str, Member]
    tracks: Mapping[str, Track]
    asked: float
    """Seconds without progress after which a server counts as hung."""
    floors: Floors
    leftovers: Mapping[str, int]
    """Requests of each server that only wait for a time-out, since their other half is gone."""

    def of(self, *roles: str) -> Iterator[tuple[Member, Server, Track]]:
        """The servers of these roles that have a process and have been ready."""
        for member in self.members.values():
            track, server = self.tracks.get(member.name), self.look.servers.get(member.name)
            if track and server and server.body and server.ready and member.role in roles:
                yield member, server, track

    def found(
        self, signature: str, weight: Weight, service: str, words: str, ago: float, partners: tuple[str, ...] = ()
    ) -> Finding:
        """A finding that began `ago` seconds ago."""
        return Finding(signature, service, weight, words, self.look.time - ago, partners)

    def prefills_get_on(self) -> bool:
        """Whether some prefill computed something lately: then its requests may well wait their turn."""
        return any(self.now - track.tokens < track.patience(self.asked) for _, _, track in self.of("prefill"))

    def names(self, *roles: str) -> tuple[str, ...]:
        """The servers of these roles."""
        return tuple(member.name for member in self.members.values() if member.role in roles)


def span(seconds: float) -> str:
    """``12 s``, ``7 min 02 s``."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def requests(number: int) -> str:
    """``1 request``, ``6 requests``."""
    return f"{number} request" + ("" if number == 1 else "s")
