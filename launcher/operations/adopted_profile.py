"""The profile beside an adopted generation: made, judged, and compared with what runs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from launcher.adopt import Found, ServerSettings, names, profile_of, settings
from launcher.adopt.options import options
from launcher.adopt.recording import READABLE
from launcher.adopt.translating import full_name
from launcher.errors import InputError, Problem
from launcher.knobs import EngineKnobs
from launcher.operations.adopted_engine import AdoptedEngine
from launcher.operations.checking import check
from launcher.plan import DIGEST, MARK, Plan, Service
from launcher.store.files import in_words, make_folder, replace

_SUBJECT = re.compile(r"(?:^|\.)(env|args)\.(\S+)")
_HEAD = """\
# {name}: written by `pdlaunch adopt` from servers that ran, {services}.
# It renders what ran, as far as a profile can say it; `pdlaunch adopt` listed the rest.
# First start, which hands over: pdlaunch up {file}
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that the profile would render in another way than it runs."""

    service: str
    setting: str
    """``env PATH``, ``args tp-size``."""
    runs: str | None
    renders: str | None


@dataclass(frozen=True, slots=True)
class AdoptedProfile:
    """The profile."""

    path: Path
    text: str
    problems: tuple[Problem, ...]
    """What the checks say of it; they stop nothing here, and errors do stop `up`."""
    differences: tuple[Difference, ...] | None
    """None where it cannot be rendered, for its errors."""
    declared: tuple[str, ...]
    """Names that nobody declares: the profile says that the value that ran is safe, and no other."""


def make_profile(
    deployment: str,
    group: Sequence[Found],
    files: Mapping[str, Mapping[str, str]],
    engine: AdoptedEngine,
    plan: Plan,
    path: Path,
) -> AdoptedProfile:
    """The profile for `path`; nothing is written there."""
    by_service = {
        name: settings(server, files.get(name, {}), engine.router_knobs if server.role == "router" else engine.knobs)
        for name, server in zip(names(group), group, strict=True)
    }
    safe: dict[str, list[str]] = {}
    while True:
        document = profile_of(
            deployment,
            group,
            by_service,
            engine=engine.settings,
            router=engine.router_settings,
            safe={name: values[0] if len(values) == 1 else values for name, values in safe.items()},
        )
        services = ", ".join(f"{n} pid {f.process.pid}" for n, f in zip(names(group), group, strict=True))
        text = _HEAD.format(name=deployment, services=services, file=path.name)
        text += yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
        problems, rendered = _judged(text, path)
        more = _undeclared(problems, by_service) if rendered is None else {}
        if not more.keys() - safe.keys():
            break
        safe |= more
    differences = _differences(plan, rendered, engine) if rendered else None
    return AdoptedProfile(path, text, problems, differences, tuple(sorted(safe)))


def write_profile(profile: AdoptedProfile) -> None:
    """Put the profile where it belongs, whole or not at all; raises PdlaunchError for what the system refuses."""
    with in_words(f"write {profile.path}", profile.path.parent):
        make_folder(profile.path.parent)
        replace(profile.path, profile.text.encode())


def _judged(text: str, path: Path) -> tuple[tuple[Problem, ...], Plan | None]:
    """What the checks say of a profile that would lie at `path`, and its plan."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        file.write_text(text, encoding="utf-8")
        try:
            checked = check(file)
        except InputError as error:
            return (Problem(str(path), "the profile", error.message),), None
    return checked.problems, checked.plan


def _undeclared(problems: Sequence[Problem], by_service: Mapping[str, ServerSettings]) -> dict[str, list[str]]:
    """The names that the checks refuse, each with every value that runs."""
    found: dict[str, list[str]] = {}
    for problem in problems:
        match = _SUBJECT.search(problem.subject)
        if problem.severity != "error" or match is None:
            continue
        section, name = match.groups()
        values = (getattr(own, section).get(name) for own in by_service.values())
        written = dict.fromkeys(_written(value) for value in values if isinstance(value, str | bool))
        if written:
            found[name] = list(written)
    return found


def _written(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


def _differences(plan: Plan, rendered: Plan, engine: AdoptedEngine) -> tuple[Difference, ...]:
    """Variables and flags that differ between what runs and what the profile renders, by service."""
    found = []
    for old in plan.services:
        new = rendered.service(old.name)
        if new is None:
            continue
        knobs = engine.router_knobs if old.role == "router" else engine.knobs
        for kind, before, after in (
            ("args", flags_of(old, knobs), flags_of(new, knobs)),
            ("env", _variables(old), _variables(new)),
        ):
            found += [
                Difference(old.name, f"{kind} {name}", before.get(name), after.get(name))
                for name in dict.fromkeys((*before, *after))
                if before.get(name) != after.get(name)
            ]
    return tuple(found)


def flags_of(service: Service, knobs: EngineKnobs | None) -> dict[str, str]:
    """A service's flags by their full names, whatever their spelling and order; several of one name together."""
    found: dict[str, str] = {}
    words = [word for argument in service.argv[1:] for word in argument.words]
    for option in options(words):
        name, negated = full_name(option.name, knobs)
        value = " ".join(option.values) or ("off" if negated else "on")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _variables(service: Service) -> dict[str, str]:
    secrets = {s.name: f"from {s.file}" for s in service.secrets if not s.name.startswith("--")}
    return {v.name: v.value for v in service.env if v.name not in (MARK, DIGEST, READABLE)} | secrets
