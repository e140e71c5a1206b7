"""From servers as they run to a plan that starts exactly the same. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launcher.adopt.finding import Found
from launcher.adopt.grouping import model_name, model_path, names
from launcher.adopt.secrets import Secrets, secrets_of
from launcher.plan import DIGEST, MARK, Argument, Origin, Plan, Secret, Service, Variable
from launcher.plan.model import BackendName, EngineUse
from launcher.plan.resolving import USUAL_CHUNK
from launcher.profile import Ready, Restart, Stop

READABLE = "SPT_NOENV"
"""Keeps /proc/PID/environ readable: https://github.com/dvarrazzo/py-setproctitle#environment-variables"""
Files = Mapping[str, Mapping[str, str]]
"""Service to flag or variable to the file that holds its secret."""


def secrets_by_service(group: Sequence[Found]) -> Mapping[str, Secrets]:
    """The secrets of each server, by service."""
    return {
        name: secrets_of(server.words[server.program.head :], server.environ)
        for name, server in zip(names(group), group, strict=True)
    }


def plan_of(
    deployment: str,
    group: Sequence[Found],
    files: Files,
    *,
    engine: EngineUse,
    accounts: Mapping[str, str | None],
    backend: BackendName,
) -> Plan:
    """The plan of the servers as they run: same words, same variables, exempt from every check.

    `backend` is what starts it the next time. `accounts` is service to the user that it runs as, None where that is
    the one who adopts.
    """
    secrets = secrets_by_service(group)
    services = [
        _service(name, server, secrets[name], files.get(name, {}), accounts.get(name)).sealed()
        for name, server in zip(names(group), group, strict=True)
    ]
    servers = [server for server in group if server.role != "router"]
    usual = "mooncake" if any(s.role == "prefill" for s in servers) else "nixl"  # the engine's, and a profile's
    return Plan(
        deployment=deployment,
        model_path=next(map(model_path, servers), ""),
        model_name=next(map(model_name, servers), deployment),
        engine=engine,
        transfer=next((t for s in servers if (t := s.options.text("disaggregation-transfer-backend"))), usual),
        services=tuple(services),
        chunk=max((n for s in servers if (n := s.options.number("chunked-prefill-size"))), default=USUAL_CHUNK),
        context=max((n for s in servers if (n := s.options.number("context-length"))), default=None),
        ready=Ready(),
        stop=Stop(),
        restart=Restart(),
        backend=backend,
        notes=("adopted as it ran; nothing of it was judged",),
    )


def _service(name: str, server: Found, secrets: Secrets, files: Mapping[str, str], user: str | None) -> Service:
    origin = Origin(kind="adopted", note=f"pid {server.process.pid}")
    own = Origin(kind="pdlaunch")
    # Without SPT_NOENV a process that renames itself, as the router does, wipes out the mark that it is known by.
    marks = (
        Variable(name=MARK, value=name, root="state", origin=own),
        Variable(name=READABLE, value="1", origin=own),
    )
    env = [
        Variable(name=variable, value=value, origin=origin)
        for variable, value in environment(server).items()
        if variable not in secrets.variables
    ]
    argv = (server.words[: server.program.head], *secrets.words)
    return Service(
        name=name,
        role=server.role,
        argv=tuple(Argument(words=words, origin=origin) for words in argv),
        env=(*env, *marks),
        secrets=tuple(Secret(name=secret, file=file, origin=origin) for secret, file in files.items()),
        gpus=server.gpus,
        host=server.options.text("host") or "127.0.0.1",
        ports=server.ports,
        user=user,
    )


def environment(server: Found) -> Mapping[str, str]:
    """The variables to start it with: its own, and PWD saying where it stands.

    A name or value that is not UTF-8 is left out; `unwritable` names it.
    """
    own = {n: v for n, v in server.environ.items() if n not in (MARK, DIGEST, READABLE) and is_text(n + v)}
    folder = server.details.cwd
    return {**own, "PWD": folder} if folder and folder != "/" and is_text(folder) else own


def unwritable(server: Found) -> tuple[str, ...]:
    """Variables that no file of a generation can hold, as they are not UTF-8."""
    return tuple(repr(n) for n, v in server.environ.items() if not is_text(n + v))


def is_text(value: str) -> bool:
    """Whether `value` is valid UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)
