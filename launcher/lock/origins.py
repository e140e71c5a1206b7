"""Where each value of a lock came from, in a few words a line: kind, file, line and note, as far as there are any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launcher.lock.model import Lock, Origins
from launcher.lock.yaml_reading import refused
from launcher.plan.model import DIGEST, Origin, Service

_FIELDS = ("kind", "file", "line", "note")


def origins_of(service: Service) -> Origins:
    """The origins of a service's settings; its own digest has none."""
    return Origins(
        argv=tuple(argument.origin for argument in service.argv),
        env={variable.name: variable.origin for variable in service.env if variable.name != DIGEST},
        secrets={secret.name: secret.origin for secret in service.secrets},
    )


def compact(origin: Origin) -> list[Any]:
    """The origin's fields in order, less those at the end that are None."""
    values = [origin.kind, origin.file, origin.line, origin.note]
    while values[-1] is None:
        values.pop()
    return values


def expand(found: Any) -> Any:
    """The origins of a service as their model reads them; what has another form stays as it is, for it to refuse."""
    if not isinstance(found, dict):
        return found
    argv = found.get("argv")
    expanded: dict[str, Any] = {"argv": [*map(_fields, argv)] if isinstance(argv, list) else argv}
    for key, values in found.items():
        if key != "argv":
            whole = isinstance(values, dict)
            expanded[key] = {name: _fields(value) for name, value in values.items()} if whole else values
    return expanded


def _fields(value: Any) -> Any:
    if not isinstance(value, list) or len(value) > len(_FIELDS):
        return value
    return dict(zip(_FIELDS, value, strict=False))


def match(lock: Lock, where: Path | str) -> None:
    """Raise InputError, naming `where`, unless every setting of every service has an origin and no other has."""
    for name, service in lock.intent.services.items():
        origins = lock.about.origins.get(name)
        sides = (
            ("argv", len(service.argv), len(origins.argv) if origins else 0),
            ("env", service.env.keys(), origins.env.keys() if origins else set()),
            ("secrets", service.secrets.keys(), origins.secrets.keys() if origins else set()),
        )
        if origins is None or any(left != right for _, left, right in sides):
            what = next((f".{key}" for key, left, right in sides if origins and left != right), "")
            raise refused(where, f"was cut short or edited: about.origins.{name}{what} does not fit services.{name}")
    if extra := sorted(lock.about.origins.keys() - lock.intent.services.keys()):
        raise refused(where, f"was edited: about.origins has {extra[0]}, which is no service")
