"""A profile that renders what was adopted, as far as profiles can say it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launcher.adopt.finding import Found
from launcher.adopt.grouping import model_name, model_path, names
from launcher.adopt.translating import ServerSettings

_SECTIONS = ("args", "env", "secrets")


def profile_of(
    deployment: str,
    group: Sequence[Found],
    by_service: Mapping[str, ServerSettings],
    *,
    engine: Mapping[str, str],
    router: Mapping[str, str],
    safe: Mapping[str, str | list[str]],
) -> dict[str, Any]:
    """The profile as data, in the order of the grammar.

    `engine` and `router` hold what was found out beside the processes (``kind``, ``venv``, ``source``, ``user``),
    `safe` the one value of each name that nobody has declared.
    """
    called = dict(zip(names(group), group, strict=True))
    servers = {name: server for name, server in called.items() if server.role != "router"}
    first = next(iter(servers.values()), None)
    document: dict[str, Any] = {"name": deployment}
    if first is not None:
        if engine.get("kind") != "simulator" or model_name(first) != "simulated-model":
            document["model"] = _model(first)
        document["engine"] = {**engine, "host": first.options.text("host") or "127.0.0.1"}
        common = _common([by_service[name] for name in servers])
        document["engine"] |= _sections(common)
        for role in ("prefill", "decode", "aggregated"):
            members = {name: server for name, server in servers.items() if server.role == role}
            if members:
                document[role] = _role([(server, by_service[name]) for name, server in members.items()], common)
    if "router" in called:
        front = called["router"]
        told = {**router, "host": front.options.text("host") or "127.0.0.1", "port": front.port}
        document["router"] = told | _sections(by_service["router"])
    if transfer := next(
        (t for s in servers.values() if (t := s.options.text("disaggregation-transfer-backend"))), None
    ):
        document["transfer"] = transfer
    if safe:
        why = "ran when it was adopted; nobody has said which other values are safe"
        document["knobs"] = {name: {"safe": value, "why": why} for name, value in sorted(safe.items())}
    return document


def _model(server: Found) -> dict[str, str]:
    revision = server.options.text("revision")
    return {"path": model_path(server), "name": model_name(server)} | ({"revision": revision} if revision else {})


def _role(members: Sequence[tuple[Found, ServerSettings]], engine: ServerSettings) -> dict[str, Any]:
    if len(members) == 1:
        server, own = members[0]
        return _keys(server) | _sections(_without(own, engine))
    common = _without(_common([own for _, own in members]), engine)
    above = [engine, common]
    replicas = [_keys(server) | _sections(_without(own, *above)) for server, own in members]
    return _sections(common) | {"replicas": replicas}


def _keys(server: Found) -> dict[str, Any]:
    found: dict[str, Any] = {"gpus": cards(server.gpus)} if server.gpus else {}
    for key, flags in (
        ("tp", ("tp-size", "tp", "tensor-parallel-size")),
        ("dp", ("dp-size", "dp", "data-parallel-size")),
        ("ep", ("ep-size", "ep", "expert-parallel-size")),
    ):
        if (number := server.options.number(*flags)) is not None:
            found[key] = number
    for key, purpose in (("port", "http"), ("bootstrap_port", "bootstrap"), ("nccl_port", "nccl")):
        if purpose in server.ports:
            found[key] = server.ports[purpose]
    return found


def cards(gpus: tuple[int, ...]) -> str:
    """``0-3``, or ``0,2,5``."""
    if len(gpus) > 1 and gpus == tuple(range(gpus[0], gpus[0] + len(gpus))):
        return f"{gpus[0]}-{gpus[-1]}"
    return ",".join(map(str, gpus))


def _common(members: Sequence[ServerSettings]) -> ServerSettings:
    """What all of them say alike."""
    first, *others = members
    return ServerSettings(
        args={n: v for n, v in first.args.items() if all(o.args.get(n) == v for o in others)},
        env={n: v for n, v in first.env.items() if all(o.env.get(n) == v for o in others)},
        secrets={n: v for n, v in first.secrets.items() if all(o.secrets.get(n) == v for o in others)},
    )


def _without(own: ServerSettings, *above: ServerSettings) -> ServerSettings:
    return ServerSettings(
        args={n: v for n, v in own.args.items() if not any(n in a.args for a in above)},
        env={n: v for n, v in own.env.items() if not any(n in a.env for a in above)},
        secrets={n: v for n, v in own.secrets.items() if not any(n in a.secrets for a in above)},
    )


def _sections(own: ServerSettings) -> dict[str, Any]:
    return {section: dict(getattr(own, section)) for section in _SECTIONS if getattr(own, section)}
