"""`explain` and `knobs`: everything known of a name, from the catalogue, the engine's source and the generations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from launcher.engines import describe
from launcher.engines.cpu.engine import installed
from launcher.errors import InputError, PdlaunchError
from launcher.knobs import EngineKnobs, EnvKnob, Flag, find_flag, harvest, harvest_router, nearest
from launcher.knobs.catalogue import Catalogue, Entry, catalogue
from launcher.operations.facts import gather
from launcher.plan import Service
from launcher.profile import Loaded, load, servers, settings_of
from launcher.store import Store, cache_dir

_GENERATIONS = 50
"""How far back a value is followed."""


@dataclass(frozen=True, slots=True)
class Here:
    """What one service is told."""

    service: str
    value: str | None
    """None where it is not set."""
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """A generation in which the value became another one."""

    generation: int
    at: str
    """ISO 8601."""
    by: str
    why: str | None
    values: tuple[Here, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """Everything known of one name."""

    name: str
    entries: tuple[Entry, ...] = ()
    """What the catalogues say, the shipped one first."""
    engine: EnvKnob | Flag | None = None
    """What the engine's source says; None where it does not know the name, or is not here."""
    source: str | None = None
    """Which engine was read: name and version."""
    where: str | None = None
    """Whose values `here` are: ``generation 37``, or a profile's path; None without either."""
    here: tuple[Here, ...] = ()
    site: str | None = None
    """What the profile itself declares, in words."""
    history: tuple[Changed, ...] = ()
    """Newest first."""


def explain(name: str, *, profile: Path | None = None, store: Store | None = None) -> Explained:
    """Everything known of `name`, and its value in `profile`, or else in the current generation of `store`.

    Raises InputError, with the nearest names, where nobody knows it.
    """
    known = catalogue(cache_dir() / "knobs")
    loaded = load(profile) if profile else None
    engine = knobs_of(loaded, store)
    router = _router(loaded) if engine is None or name not in engine.env else None
    facts, source = _facts(name, engine, router)
    here, where = _values(name, loaded, store)
    entries = known.entries(name)
    if not entries and facts is None and all(each.value is None for each in here) and not _site(name, loaded):
        raise _nobody(name, known, engine)
    history = _history(name, store) if store and not loaded else ()
    return Explained(name, entries, facts, source, where, here, _site(name, loaded), history)


def _site(name: str, loaded: Loaded | None) -> str | None:
    knob = loaded.profile.knobs.get(name) if loaded else None
    if loaded is None or knob is None:
        return None
    safe = (knob.safe,) if isinstance(knob.safe, str) else knob.safe or ("not said",)
    bad = "".join(f', bad: {value} "{does}"' for value, does in knob.bad.items())
    why = f", because {knob.why}" if knob.why else ""
    return f"safe: {' or '.join(safe)}{bad}{why}     {loaded.path}:{loaded.lines.at('knobs', name)}"


def knobs_of(loaded: Loaded | None, store: Store | None) -> EngineKnobs | None:
    """What the engine of a profile or of the current generation knows; of the CPU engine without either."""
    package: Path | None = None
    if loaded is not None:
        package = gather(loaded).package
    elif store is not None and (current := store.current()) is not None:
        digest = store.generation(current).seal.engine
        package = store.layout.engines / digest / "sglang" if digest else None
    else:
        engine = installed()
        package = describe(engine.venv).package if engine else None
    return harvest(package, cache_dir=cache_dir() / "knobs") if package and package.is_dir() else None


def undeclared(known: Catalogue, engine: EngineKnobs) -> tuple[EnvKnob, ...]:
    """The variables that the engine's server reads and of which nobody has said anything."""
    return tuple(knob for name, knob in sorted(engine.env.items()) if knob.read and name not in known)


def _router(loaded: Loaded | None) -> EngineKnobs | None:
    package = gather(loaded).router_package if loaded else None
    return harvest_router(package, cache_dir=cache_dir() / "knobs") if package else None


def _facts(
    name: str, engine: EngineKnobs | None, router: EngineKnobs | None
) -> tuple[EnvKnob | Flag | None, str | None]:
    for knobs in filter(None, (engine, router)):
        found = knobs.env.get(name) or find_flag(knobs, name)
        said = f"{knobs.engine} {knobs.version or ''}".strip()
        if isinstance(found, EnvKnob) or (isinstance(found, Flag) and found.name == name):
            return found, said
    said = " and ".join(f"{knobs.engine} {knobs.version or ''}".strip() for knobs in filter(None, (engine, router)))
    return None, said or None


def _nobody(name: str, known: Catalogue, engine: EngineKnobs | None) -> InputError:
    names = [*known, *(engine.env if engine else ()), *(engine.flags if engine else ())]
    near = nearest(name, names)
    hint = f"pdlaunch explain {near[0]}" if near else "pdlaunch knobs lists what is declared"
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return InputError(f"nobody knows {name}{meant}", hint=hint)


def _values(name: str, loaded: Loaded | None, store: Store | None) -> tuple[tuple[Here, ...], str | None]:
    if loaded is not None:
        return tuple(_written(name, loaded)), str(loaded.path)
    current = store.current() if store else None
    if store is None or current is None:
        return (), None
    plan = store.generation(current).plan
    return tuple(_recorded(name, service) for service in plan.services), f"generation {current}"


def _written(name: str, loaded: Loaded) -> Iterator[Here]:
    told = [(server.name, settings_of(loaded, server.role, server.index)) for server in servers(loaded.profile)]
    if loaded.profile.router:
        told.append(("router", settings_of(loaded, "router")))
    for service, merged in told:
        written = merged.env.get(name) or merged.args.get(name)
        if written is None or written.value is None:
            yield Here(service, None)
        else:
            yield Here(service, loaded.lines.written(*written.path), f"{loaded.path}:{written.line}")


def _recorded(name: str, service: Service) -> Here:
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


def _history(name: str, store: Store) -> tuple[Changed, ...]:
    """The generations that changed the value; one that cannot be read is passed over."""
    found: list[Changed] = []
    before: tuple[tuple[str, str | None], ...] | None = None
    for generation in store.generations()[-_GENERATIONS:]:
        try:
            here = tuple(_recorded(name, service) for service in generation.plan.services)
            about = generation.about
        except PdlaunchError:
            continue
        values = tuple((each.service, each.value) for each in here)
        first_without = before is None and all(value is None for _, value in values)
        if values != before and not first_without:
            at = about.written.isoformat(timespec="seconds")
            found.append(Changed(generation.number, at, about.by, about.why, here))
        before = values
    return tuple(reversed(found))
