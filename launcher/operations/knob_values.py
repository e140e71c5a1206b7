"""What one knob is set to: in a profile, in a recorded generation, over time, and in the processes that run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launcher.errors import PdlaunchError
from launcher.plan import Service
from launcher.profile import Loaded, Waiver, servers, settings_of
from launcher.store import Generation, Store

if TYPE_CHECKING:
    from launcher.observe.live import LiveService
    from launcher.observe.live_server import ServerInfo

_CHANGES = 20
"""How many changes of a value are told, the newest."""
_PATIENCE = 1.0
"""Seconds that a server has to say what it made of a value; a hung one says nothing."""


@dataclass(frozen=True, slots=True)
class Here:
    """What one service is told."""

    service: str
    value: str | None
    """None where it is not set."""
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Live:
    """What one service that runs has."""

    service: str
    value: str | None
    """As its main process was started; None where it is not set."""
    pending: bool
    """Whether another value is recorded, which takes effect with the next start."""
    engine: str | None = None
    """What the server says that it made of it, where that is something else; None where it does not say."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A moment from which on the value was another one."""

    generation: int
    at: str
    """ISO 8601."""
    by: str
    why: str | None
    before: str | None
    """None where it was set nowhere; services that differ are named."""
    after: str | None
    values: tuple[Here, ...]
    waiver: Waiver | None = None
    """Who allowed the new value."""


def written(name: str, loaded: Loaded) -> Iterator[Here]:
    """What each service of a profile is told, with the line that decides it; a line that takes it away as well."""
    told = [(server.name, settings_of(loaded, server.role, server.index)) for server in servers(loaded.profile)]
    if loaded.profile.router:
        told.append(("router", settings_of(loaded, "router")))
    for service, merged in told:
        found = merged.env.get(name) or merged.args.get(name)
        place = f"{loaded.path}:{found.line}" if found else None
        value = loaded.lines.written(*found.path) if found and found.value is not None else None
        yield Here(service, value, place)


def recorded(name: str, service: Service) -> Here:
    """What a service of a plan is told."""
    for variable in service.env:
        if variable.name == name:
            return Here(service.name, variable.value, str(variable.origin))
    for secret in service.secrets:
        if secret.name.lstrip("-") == name:
            return Here(service.name, "a secret", str(secret.origin))
    for argument in service.argv[1:]:
        flag, equals, joined = argument.words[0].partition("=")
        if flag == f"--{name}":
            words = (joined,) if equals else argument.words[1:]
            return Here(service.name, " ".join(words) or "set", str(argument.origin))
    return Here(service.name, None)


def in_words(values: Sequence[Here]) -> str | None:
    """One text for what several services are told: their value, or each with its name; None where none is set."""
    told = [each for each in values if each.value is not None]
    if len({each.value for each in told}) == 1:
        return told[0].value
    return ", ".join(f"{each.service}: {each.value}" for each in told) or None


def turns(name: str, store: Store) -> tuple[Turn, ...]:
    """When the value that serves became another one, newest first; a generation that cannot be read is passed over."""
    found: list[Turn] = []
    before: str | None = None
    known: dict[int, tuple[Here, ...]] = {}
    for event in store.journal.events():
        if event.what != "current" or event.generation is None:
            continue
        try:
            generation = store.generation(event.generation)
            if event.generation not in known:
                known[event.generation] = tuple(recorded(name, service) for service in generation.plan.services)
        except PdlaunchError:
            continue
        here = known[event.generation]
        after = in_words(here)
        if after != before:
            at = event.at.isoformat(timespec="seconds")
            waiver = _waiver(name, after, generation)
            found.append(Turn(event.generation, at, event.by, event.why, before, after, here, waiver))
        before = after
    return tuple(reversed(found[-_CHANGES:]))


def _waiver(name: str, value: str | None, generation: Generation) -> Waiver | None:
    return next((w for w in generation.plan.allowed if w.what.endswith(f".{name}={value}")), None)


def live_values(name: str, store: Store, generation: Generation) -> tuple[Live, ...]:
    """What the processes that run have, and what their servers say that they made of it; secrets are not told."""
    from launcher.observe.live import live

    now = live(store.layout.state)
    running = [service for service in generation.plan.services if service.name in now and not _secret(name, service)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(_answer, running))
    pairs = zip(running, answers, strict=True)
    return tuple(found for service, info in pairs if (found := _live(name, service, now[service.name], info)))


def _secret(name: str, service: Service) -> bool:
    return any(secret.name.lstrip("-") == name for secret in service.secrets)


def _answer(service: Service) -> ServerInfo | None:
    from launcher.observe.http import Endpoint
    from launcher.observe.live_server import server_info

    if service.role == "router":
        return None
    return server_info(Endpoint(service.host, service.ports["http"]), timeout=_PATIENCE)


def _live(name: str, service: Service, now: LiveService, info: ServerInfo | None) -> Live | None:
    """None where the process tells neither its environment nor its command."""
    if "-" in name or name.islower():
        if now.main.renamed:
            return None
        value = _flag(name, now.main.proc.cmdline, len(service.argv[0].words))
        said = _said(info.arguments if info else {}, name.replace("-", "_"))
    else:
        if now.main.environ is None:
            return None
        value = now.main.environ.get(name)
        said = info.environ.get(name) if info else None
    asked = recorded(name, service).value
    same = said is None or said == value or (value == "set" and said == "true") or (value is None and said == "null")
    root = next((v.root for v in service.env if v.name == name), None)  # recorded below a folder of this machine's
    return Live(service.name, value, pending=not root and value != asked, engine=None if same else said)


def _flag(name: str, command: Sequence[str], size: int) -> str | None:
    from launcher.compare.drift import flags, without_keys

    found = flags(without_keys(command), size).get(name)
    return "set" if found == "on" else found


def _said(arguments: Mapping[str, Any], name: str) -> str | None:
    if name not in arguments:
        return None
    value = arguments[name]
    return value if isinstance(value, str) else json.dumps(value)
