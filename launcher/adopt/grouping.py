"""Which servers form one deployment, and what each is called in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from launcher.adopt.finding import Found
from launcher.errors import InputError

_PORT = re.compile(r"https?://[^/\s]*?:(\d+)")
_NAME = re.compile(r"(?![0-9]+$)[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


def deployments(found: Sequence[Found]) -> tuple[tuple[Found, ...], ...]:
    """`found` in groups: a router with the workers that it names, prefills and decodes of one model, others alone."""
    left = list(found)
    groups = []
    for router in [f for f in found if f.role == "router"]:
        named = {int(port) for word in router.words for port in _PORT.findall(word)}
        members = [f for f in left if f is not router and f.role != "router" and f.port in named]
        groups.append((*members, router))
        left = [f for f in left if f is not router and f not in members]
    pairs: dict[str, list[Found]] = {}
    for server in left:
        alone = server.role == "aggregated"
        pairs.setdefault(str(server.process.pid) if alone else model_name(server), []).append(server)
    return tuple(sorted((*groups, *map(tuple, pairs.values())), key=lambda group: group[0].process.started))


def choose(found: Sequence[Found], pids: Collection[int]) -> tuple[Found, ...]:
    """The one deployment that is meant: the servers of `pids`, else the only one there is.

    Raises InputError where nothing is found, where several are and nobody said which, and for a pid that is none.
    """
    if pids:
        known = {f.process.pid: f for f in found}
        if unknown := sorted(set(pids) - known.keys()):
            there = f"there are: {', '.join(map(str, sorted(known)))}" if known else "there is none"
            raise InputError(f"pid {unknown[0]} is no server that could be adopted; {there}", hint="pdlaunch adopt")
        return tuple(f for f in found if f.process.pid in pids)
    groups = deployments(found)
    if not groups:
        raise InputError(
            "no SGLang server, router or simulator runs here that pdlaunch did not start",
            hint="pdlaunch adopt --script FILE reads one that does not run; sudo shows those of others",
        )
    if len(groups) > 1:
        each = "; ".join(", ".join(f"{f.role} :{f.port} (pid {f.process.pid})" for f in group) for group in groups)
        first = " ".join(str(f.process.pid) for f in groups[0])
        raise InputError(f"{len(groups)} deployments run here: {each}", hint=f"say which: pdlaunch adopt {first}")
    return groups[0]


def names(group: Sequence[Found]) -> tuple[str, ...]:
    """The service of each server: ``prefill-0``, ``decode-1``, ``router``; raises InputError for a second router."""
    counts: dict[str, int] = {}
    result = []
    for server in group:
        number = counts.get(server.role, 0)
        counts[server.role] = number + 1
        if server.role == "router" and number:
            raise InputError("a deployment has one router, and these have two", hint="pdlaunch adopt PID...")
        result.append("router" if server.role == "router" else f"{server.role}-{number}")
    return tuple(result)


def model_path(server: Found) -> str:
    """Where its weights lie; empty for a router."""
    return server.options.text("model-path", "model") or ""


def model_name(server: Found) -> str:
    """What clients send as ``model``."""
    return server.options.text("served-model-name") or model_path(server)


def deployment_name(group: Sequence[Found]) -> str:
    """A name for the deployment, from the model's."""
    told = next((model_name(f) for f in group if f.role != "router"), "adopted")
    slug = re.sub(r"[^a-z0-9]+", "-", told.rstrip("/").rpartition("/")[2].lower()).strip("-")[:40].strip("-")
    return slug if _NAME.fullmatch(slug) else "adopted"
