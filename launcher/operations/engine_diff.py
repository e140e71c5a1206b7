"""`knobs diff`: what another engine does to the flags and variables of this one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from launcher.errors import InputError
from launcher.knobs import Change, EngineKnobs, Flag, env_changes, find_flag, flag_changes
from launcher.operations.engine_trees import knobs_at
from launcher.operations.selecting import select
from launcher.plan import Service

_WORST_FIRST = ("removed", "flipped", "split", "renamed", "type", "choices", "default", "deprecated", "added")


@dataclass(frozen=True, slots=True)
class EngineDiff:
    """How the knobs of `before` fare in `after`; what stops or turns a setting round comes first."""

    before: str
    """Name and version."""
    after: str
    flags: tuple[Change, ...]
    variables: tuple[Change, ...]
    deployment: str | None = None
    """Whose settings alone were looked at; None for all."""

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.flags and not self.variables


def engine_diff(before: str, after: str, *, deployment: str | None = None) -> EngineDiff:
    """What changes from one engine to another, both a registered name or a path.

    With a deployment only what its current generation uses. Raises InputError where an engine or the deployment is not
    there.
    """
    services: tuple[Service, ...] | None = None
    if deployment is not None:
        store = select(deployment)
        deployment, current = store.layout.deployment, store.current()
        if current is None:
            raise InputError(f"{deployment} has no generation, so nothing is used", hint="pdlaunch up PROFILE")
        services = store.generation(current).plan.services
    old, new = knobs_at(before), knobs_at(after)
    flags, variables = flag_changes(old, new), env_changes(old, new)
    if services is not None:
        flags = narrowed(flags, used_flags(services, old))
        variables = narrowed(variables, used_variables(services))
    return EngineDiff(_title(old), _title(new), _ranked(flags), _ranked(variables), deployment)


def used_flags(services: Iterable[Service], knobs: EngineKnobs) -> frozenset[str]:
    """The flags on the command lines of the engine's servers, by the name that `knobs` has for them.

    A name that it does not have stands as it is.
    """
    written = [argument.words[0] for service in _servers(services) for argument in service.argv[1:]]
    written += [secret.name for service in _servers(services) for secret in service.secrets]
    names = [word[2:].partition("=")[0] for word in written if word.startswith("--")]
    found = ((name, find_flag(knobs, name)) for name in names)
    return frozenset(flag.name if isinstance(flag, Flag) else name for name, flag in found)


def used_variables(services: Iterable[Service]) -> frozenset[str]:
    """The variables that the engine's servers are given."""
    names = [variable.name for service in _servers(services) for variable in service.env]
    names += [secret.name for service in _servers(services) for secret in service.secrets]
    return frozenset(name for name in names if not name.startswith("--"))


def narrowed(changes: Iterable[Change], used: frozenset[str]) -> tuple[Change, ...]:
    """The changes of the names in `used`, and those that bring one of them."""
    return tuple(change for change in changes if change.name in used or change.new_name in used)


def _servers(services: Iterable[Service]) -> tuple[Service, ...]:
    """The router's flags and variables are its own."""
    return tuple(service for service in services if service.role != "router")


def _ranked(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: (_WORST_FIRST.index(change.kind), change.name)))


def _title(knobs: EngineKnobs) -> str:
    return f"{knobs.engine} {knobs.version or ''}".strip()
