"""`explain` and `knobs`: everything known of a name, from the catalogue, the engine's source and the generations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from launcher.engines import describe
from launcher.engines.cpu.engine import installed
from launcher.errors import InputError
from launcher.knobs import EngineKnobs, EnvKnob, Flag, find_flag, harvest, harvest_router, nearest
from launcher.knobs.catalogue import Catalogue, Entry, catalogue
from launcher.operations import recorded
from launcher.operations.facts import gather
from launcher.operations.knob_values import Here, Live, Turn, live_values, turns, written
from launcher.operations.knob_values import recorded as recorded_in
from launcher.operations.proof import Proof, proof
from launcher.profile import Loaded, examine
from launcher.store import Generation, Store, cache_dir


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
    live: tuple[Live, ...] = ()
    """What the processes have; empty where nothing runs, and where a profile was asked about."""
    proof: tuple[Proof, ...] = ()
    """What served with each value here, best first."""
    history: tuple[Turn, ...] = ()
    """Newest first."""


def explain(name: str, *, profile: Path | None = None, store: Store | None = None) -> Explained:
    """Everything known of `name`, and its value in `profile`, or else in the current generation of `store`.

    Raises InputError, with the nearest names, where nobody knows it.
    """
    known = catalogue(cache_dir() / "knobs")
    loaded = examine(profile).loaded if profile else None  # one with errors is explained all the same
    current = store.current() if store and not loaded else None
    generation = store.generation(current) if store and current is not None else None
    engine = knobs_of(loaded, store)
    router = _router(loaded) if engine is None or name not in engine.env else None
    facts, source = _facts(name, engine, router)
    here = _values(name, loaded, generation)
    entries = known.entries(name)
    site = _site(name, loaded or (recorded.profile(generation) if generation else None))
    history = turns(name, store) if store and not loaded else ()
    if not entries and facts is None and all(each.value is None for each in here) and not (site or history):
        raise _nobody(name, known, engine)
    return Explained(
        name,
        entries,
        facts,
        source,
        str(loaded.path) if loaded else f"generation {current}" if generation else None,
        here,
        site,
        live_values(name, store, generation) if store and generation else (),
        proof(store, name) if store and generation else (),
        history,
    )


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


def _values(name: str, loaded: Loaded | None, generation: Generation | None) -> tuple[Here, ...]:
    if loaded is not None:
        return tuple(written(name, loaded))
    return tuple(recorded_in(name, service) for service in generation.plan.services) if generation else ()
