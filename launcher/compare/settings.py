"""Two plans side by side: which setting of which service differs, with its origin on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from launcher.plan import DIGEST, MARK, Origin, Plan, Service

_OWN_VARIABLES = frozenset({DIGEST, MARK})


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from."""

    value: str
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that differs; a side that has none is None."""

    services: tuple[str, ...]
    """Those that it is the same change for."""
    kind: str
    """``args``, ``env``, ``secrets``, ``ports``, ``gpus``, ``service``."""
    name: str
    before: Setting | None
    after: Setting | None

    @property
    def subject(self) -> str:
        """``prefill-0, decode-0  env NCCL_DEBUG``."""
        return f"{', '.join(self.services)}  {self.kind} {self.name}".rstrip()

    def __str__(self) -> str:
        before = self.before.value if self.before else "unset"
        after = self.after.value if self.after else "unset"
        return f"{self.subject}  {before} -> {after}"


def changes(before: Plan | None, after: Plan | None) -> tuple[Change, ...]:
    """What differs from `before` to `after`, equal changes of several services taken together; None has no service."""
    old = {s.name: s for s in before.services} if before else {}
    new = {s.name: s for s in after.services} if after else {}
    together: dict[tuple[str, str, str | None, str | None], Change] = {}
    for name in dict.fromkeys((*old, *new)):
        for change in _of_service(name, old.get(name), new.get(name)):
            sides = (change.before.value if change.before else None, change.after.value if change.after else None)
            key = (change.kind, change.name, *sides)
            known = together.get(key)
            services = (*known.services, name) if known else (name,)
            together[key] = Change(services, change.kind, change.name, change.before, change.after)
    return tuple(together.values())


def _of_service(name: str, old: Service | None, new: Service | None) -> list[Change]:
    if old is None or new is None:
        here, gone = Setting("present", None), None
        return [Change((name,), "service", "", gone if old is None else here, here if old is None else gone)]
    found = []
    for kind, values in (("args", _args), ("env", _env), ("secrets", _secrets), ("ports", _ports), ("gpus", _gpus)):
        left, right = values(old), values(new)
        for key in dict.fromkeys((*left, *right)):
            a, b = left.get(key), right.get(key)
            if (a.value if a else None) != (b.value if b else None):
                found.append(Change((name,), kind, key, a, b))
    return found


def _args(service: Service) -> Mapping[str, Setting]:
    program, *flags = service.argv
    found = {"program": Setting(" ".join(program.words), program.origin)}
    for flag in flags:
        name, _, joined = flag.words[0].partition("=")
        key = name.removeprefix("--")
        value = joined or " ".join(flag.words[1:]) or "on"
        earlier = found.get(key)
        found[key] = Setting(f"{earlier.value}, {value}" if earlier else value, flag.origin)
    return found


def _env(service: Service) -> Mapping[str, Setting]:
    return {
        v.name: Setting(f"{v.root}:{v.value}" if v.root else v.value, v.origin)
        for v in service.env
        if v.name not in _OWN_VARIABLES
    }


def _secrets(service: Service) -> Mapping[str, Setting]:
    return {s.name: Setting(f"secret from {s.file}", s.origin) for s in service.secrets}


def _ports(service: Service) -> Mapping[str, Setting]:
    return {use: Setting(str(port), None) for use, port in service.ports.items()}


def _gpus(service: Service) -> Mapping[str, Setting]:
    return {"": Setting(",".join(map(str, service.gpus)), None)} if service.gpus else {}
