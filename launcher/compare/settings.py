"""Two plans side by side: which setting of which service differs, with its origin on both sides."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from launcher.compare.change import Change, Kind, Setting
from launcher.compare.scope import fold
from launcher.plan.model import DIGEST, MARK, Plan, Service, Variable
from launcher.profile import Waiver

Fingerprints: TypeAlias = Mapping[str, str | None]
"""Secret, or ``secret (file)``, to the keyed fingerprint of its value; None where that could not be read."""
_START_ORDER = ("prefill", "decode", "aggregated", "router")
_OWN_VARIABLES = frozenset({DIGEST, MARK})
_SNAPSHOT = "engine/"
"""Where PYTHONPATH leads below the state folder; which snapshot that is the source itself says."""
_IMPLIED = {
    "model.path": "model-path",
    "model.name": "served-model-name",
    "transfer": "disaggregation-transfer-backend",
    "chunk": "chunked-prefill-size",
    "context": "context-length",
}
"""What a plan repeats of its services' flags: said once, where the flag stands."""


def changes(
    before: Plan | None,
    after: Plan | None,
    fingerprints: tuple[Fingerprints, Fingerprints] = ({}, {}),
) -> tuple[Change, ...]:
    """Which settings of which services differ, the same change of several taken together; None has no service."""
    old = {s.name: s for s in before.services} if before else {}
    new = {s.name: s for s in after.services} if after else {}
    differing = fingerprints[0] != fingerprints[1] and all(fingerprints)
    known = fingerprints if differing else ({}, {})
    roles = {name: service.role for name, service in (old | new).items()}
    names = sorted(roles, key=lambda name: (_START_ORDER.index(roles[name]), name))  # the same from both sides
    return fold([c for name in names for c in _of_service(name, old.get(name), new.get(name), known)], roles)


def plan_changes(before: Plan, after: Plan, flags: Collection[str] = ()) -> tuple[Change, ...]:
    """What differs beside the services: readiness, stopping, restarts, waivers, the engine's version.

    `flags` are those that differ already: what a plan repeats of them is left out.
    """
    left, right = plan_settings(before), plan_settings(after)
    return tuple(
        Change("plan", name, (), "", left.get(name), right.get(name))
        for name in dict.fromkeys((*left, *right))
        if _value(left.get(name)) != _value(right.get(name)) and _IMPLIED.get(name) not in flags
    )


def settings_of(service: Service, fingerprints: Fingerprints | None = None) -> Mapping[tuple[Kind, str], Setting]:
    """Every setting of a service by kind and name."""
    kinds: dict[Kind, Mapping[str, Setting]] = {
        "args": _args(service),
        "env": _env(service.env),
        "secrets": _secrets(service, fingerprints or {}),
        "ports": {use: Setting(str(port)) for use, port in service.ports.items()},
        "gpus": {"": Setting(",".join(map(str, service.gpus)))} if service.gpus else {},
        "run": {"host": Setting(service.host)} | ({"user": Setting(service.user)} if service.user else {}),
    }
    return {(kind, name): setting for kind, found in kinds.items() for name, setting in found.items()}


def plan_settings(plan: Plan) -> Mapping[str, Setting]:
    """What the plan says beside its services, by name."""
    values = {
        "model.path": plan.model_path,
        "model.name": plan.model_name,
        "engine.kind": plan.engine.kind,
        "engine.version": plan.engine.version,
        "transfer": plan.transfer,
        "chunk": plan.chunk,
        "context": plan.context,
        **{f"ready.{key}": value for key, value in plan.ready.model_dump().items()},
        **{f"stop.{key}": value for key, value in plan.stop.model_dump().items()},
        **{f"restart.{key}": value for key, value in plan.restart.model_dump().items()},
        **{f"watch.{key}": value for key, value in plan.watch.model_dump().items()},
        "backend": plan.backend,
        **{f"allow {w.what}": _waived(w) for w in plan.allowed},
    }
    return {name: Setting(_text(value)) for name, value in values.items() if value is not None}


def _waived(waiver: Waiver) -> str:
    claim = f" although {waiver.claim}" if waiver.claim else ""
    return f'"{waiver.why}"{claim}, {waiver.by}, until {waiver.until}'


def _of_service(
    name: str, old: Service | None, new: Service | None, fingerprints: tuple[Fingerprints, Fingerprints]
) -> list[Change]:
    if old is None or new is None:
        here = Setting("present")
        return [Change("service", "", (name,), name, None if old is None else here, None if new is None else here)]
    left, right = settings_of(old, fingerprints[0]), settings_of(new, fingerprints[1])
    return [
        Change(kind, key, (name,), name, left.get((kind, key)), right.get((kind, key)))
        for kind, key in dict.fromkeys((*left, *right))
        if _value(left.get((kind, key))) != _value(right.get((kind, key)))
    ]


def _value(setting: Setting | None) -> str | None:
    return setting.value if setting else None


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _args(service: Service) -> Mapping[str, Setting]:
    program, *flags = service.argv
    found = {"program": Setting(" ".join(program.words), program.origin)}
    ports = {str(port) for port in service.ports.values()}
    for flag in flags:
        name, _, joined = flag.words[0].partition("=")
        key = name.removeprefix("--")
        value = joined or " ".join(flag.words[1:]) or "on"
        if (key.endswith("port") and value in ports) or (key == "host" and value == service.host):
            continue  # said under ports, and as the host
        earlier = found.get(key)
        found[key] = Setting(f"{earlier.value}, {value}" if earlier else value, flag.origin)
    return found


def _env(env: Iterable[Variable]) -> Mapping[str, Setting]:
    return {
        v.name: Setting(f"{{{v.root}}}/{v.value}" if v.root else v.value, v.origin)
        for v in env
        if v.name not in _OWN_VARIABLES and not (v.root == "state" and v.value.startswith(_SNAPSHOT))
    }


def _secrets(service: Service, fingerprints: Fingerprints) -> Mapping[str, Setting]:
    found = {}
    for secret in service.secrets:
        seen = fingerprints.get(secret.name) or fingerprints.get(f"{secret.name} ({secret.file})")
        told = f"secret from {secret.file}" + (f", fingerprint {seen}" if seen else "")
        found[secret.name] = Setting(told, secret.origin)
    return found
