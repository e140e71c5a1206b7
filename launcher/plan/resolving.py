"""Profile and facts in, plan out: pure, so that it can be shown, compared and repeated."""

from __future__ import annotations

from typing import get_args

from launcher.errors import InputError
from launcher.plan.context import Context, context
from launcher.plan.facts import Facts
from launcher.plan.front import router
from launcher.plan.model import BackendName, EngineUse, Plan, Service
from launcher.plan.server import note, server
from launcher.profile import Loaded

USUAL_CHUNK = 8192
"""Tokens of a prefill chunk where the profile says nothing: what SGLang 0.5.23 takes on large cards."""
NO_ENGINE = "the serving environment is not on this machine, so its version and its source are not known here"


def resolve(loaded: Loaded, facts: Facts, *, backend: str | None = None) -> Plan:
    """The plan of a loaded profile, for `backend` instead of the profile's own.

    Raises InputError for a backend that there is not, and where no port is left.
    """
    c = context(loaded, facts)
    p = loaded.profile
    servers = [server(c, slot).sealed() for slot in c.slots]
    routers = [router(c, p.router).sealed()] if p.router else []
    return Plan(
        deployment=p.name,
        model_path=c.model_path()[0],
        model_name=p.model.name,
        engine=EngineUse(
            kind=p.engine.kind,
            version=facts.engine.version if facts.engine else p.engine.version or "unknown",
            source=p.engine.source,
            snapshot=facts.snapshot,
        ),
        transfer=p.transfer,
        services=(*servers, *routers),
        chunk=_largest(servers, "chunked-prefill-size") or USUAL_CHUNK,
        context=_largest(servers, "context-length"),
        ready=p.ready,
        stop=p.stop,
        restart=p.restart,
        watch=p.watch.model_copy(update={"metrics_port": c.watch_port()}),
        allowed=p.allow,
        backend=_backend(backend or p.backend or ("systemd" if facts.machine.systemd else "supervisord")),
        notes=tuple(_notes(c)),
    )


def _backend(name: str) -> BackendName:
    for known in get_args(BackendName):
        if name == known:
            found: BackendName = known
            return found
    raise InputError(f"there is no backend {name!r}", hint=f"one of {', '.join(get_args(BackendName))}")


def _largest(servers: list[Service], flag: str) -> int | None:
    """The largest value that a whole-number flag has on any server, so that a prompt made of it is long enough."""
    return max((n for s in servers if (n := _number(s, flag)) is not None and n > 0), default=None)


def _number(service: Service, flag: str) -> int | None:
    words = next((a.words for a in service.argv if a.words[0] == f"--{flag}" and len(a.words) == 2), None)
    return int(words[1]) if words and words[1].isdecimal() else None


def _notes(c: Context) -> list[str]:
    missing = [NO_ENGINE] if c.facts.engine is None and c.profile.engine.kind != "simulator" else []
    return [*missing, *(text for slot in c.slots if (text := note(slot, c)))]
