"""Whether the GPUs suffice, and no card is given away twice."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile.findings import Finding
from launcher.profile.lines import Lines
from launcher.profile.model import Profile, Settings
from launcher.profile.serving import Server, servers


def check_cards(profile: Profile, lines: Lines) -> Iterator[Finding]:
    """Find cards that are missing, shared, or fewer than the sizes need."""
    owner: dict[int, Server] = {}
    for server in servers(profile):
        if not server.keys.gpus:
            if profile.engine.kind == "sglang":
                yield Finding((*server.path, "gpus"), f"{server.name} has no GPUs", "gpus: 0-3")
            continue
        yield from _shared(server, owner, lines)
        yield from _sizes(server, profile, lines)


def _shared(server: Server, owner: dict[int, Server], lines: Lines) -> Iterator[Finding]:
    shared = [gpu for gpu in server.keys.gpus if gpu in owner]
    for other in {owner[gpu].path: owner[gpu] for gpu in shared}.values():
        cards = ", ".join(str(gpu) for gpu in shared if owner[gpu] is other)
        line = lines.at(*other.path, "gpus")
        yield Finding((*server.path, "gpus"), f"{other.name} has GPU {cards} as well, line {line}")
    for gpu in server.keys.gpus:
        owner.setdefault(gpu, server)


def _sizes(server: Server, profile: Profile, lines: Lines) -> Iterator[Finding]:
    have = len(server.keys.gpus)
    pp = _number(_arg(profile, server, "pp-size"))
    splits_tp = _arg(profile, server, "enable-dp-attention") is True
    if splits_tp and server.tp % server.dp:
        yield Finding(
            server.at("dp", lines), f"with attention DP, dp divides tp; {server.dp} does not divide {server.tp}"
        )
    if server.ep > server.tp:
        yield Finding(
            server.at("ep", lines), f"ep {server.ep} is larger than tp {server.tp}: experts are split within tp"
        )
    need = server.tp * pp * (1 if splits_tp else server.dp)
    sizes = " x ".join(f"{name} {size}" for name, size in _factors(server, pp, splits_tp) if size > 1) or "tp 1"
    key = next((k for k in ("tp", "dp") if lines.has(*server.at(k, lines))), "gpus")
    if need > have:
        fits = have // (need // server.tp)
        write = f"tp: {fits}" if fits else None
        replicas = server.dp > 1 and not splits_tp
        hint = f"; `attn-dp-size: {server.dp}` under args splits attention within tp instead" if replicas else ""
        yield Finding(server.at(key, lines), f"{sizes} needs {need} GPUs, {server.name} has {have}{hint}", write)
    elif need < have:
        error = f"{sizes} uses {need} of the {have} GPUs of {server.name}"
        yield Finding(server.at(key, lines), error, severity="warning")


def _factors(server: Server, pp: int, splits_tp: bool) -> list[tuple[str, int]]:
    return [("tp", server.tp), ("pp", pp), ("dp", 1 if splits_tp else server.dp)]


def _arg(profile: Profile, server: Server, name: str) -> object:
    """The flag as this server gets it; the most specific level wins."""
    levels: tuple[Settings, ...] = (server.keys, getattr(profile, server.role), profile.engine)
    return next((level.args[name] for level in levels if name in level.args), None)


def _number(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isdecimal() and 0 < len(value) < 5 and int(value) else 1
