"""What was asked of a server against what it says that it runs. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from launcher.compare.drift import Finding, Kind
from launcher.lock.observed import asked
from launcher.lock.observed import resolved as otherwise
from launcher.observe.live_server import ServerInfo
from launcher.plan.model import Service

_GIVEN = frozenset({"model_path", "served_model_name", "revision", "host", "port", "tp_size", "disaggregation_mode"})
"""Arguments that no resolution changes: another value means that the server was told something else."""


def resolved(service: Service, info: ServerInfo, environ: Mapping[str, str] | None) -> tuple[Finding, ...]:
    """Arguments and variables that the server has otherwise than it was asked for.

    `environ` is the main process's. Resolution is the engine's right, so these are findings of kind ``engine``, but for
    what it never resolves.
    """
    return (*_arguments(service, info.arguments), *_variables(service, info.environ, environ))


def _arguments(service: Service, said: Mapping[str, Any]) -> Iterator[Finding]:
    for name, value in otherwise(said, asked(argument.words for argument in service.argv[1:])).items():
        kind: Kind = "changed" if name in _GIVEN else "engine"
        yield Finding(kind, service.name, f"argument {name}", value.asked, _text(value.gets))


def _variables(service: Service, said: Mapping[str, str], environ: Mapping[str, str] | None) -> Iterator[Finding]:
    secrets = {secret.name for secret in service.secrets}
    for name, value in sorted(said.items()):
        if environ is not None and name not in secrets and environ.get(name) != value:
            yield Finding("engine", service.name, f"env {name}", environ.get(name), value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
