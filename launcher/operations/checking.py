"""Judging a profile: everything that can be known before anything is started, all at once."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import InputError, Problem
from launcher.knobs import EngineKnobs, harvest, harvest_router
from launcher.knobs.catalogue import catalogue
from launcher.observe.machine import account
from launcher.operations.engine_trees import knobs_at
from launcher.operations.facts import Gathered, gather
from launcher.plan import Facts, Plan, resolve
from launcher.profile import Examined, Loaded, examine, faulty, is_lock_file, levels, waive
from launcher.rules import Known, check_declared, check_names, check_values, judge_profile, simulator_knobs
from launcher.store import cache_dir


@dataclass(frozen=True, slots=True)
class Checked:
    """A profile with its plan, and what is wrong with it."""

    loaded: Loaded
    facts: Facts
    plan: Plan | None
    """None where the profile is too wrong to be planned."""
    problems: tuple[Problem, ...]
    roots: dict[str, Path]
    """The engine's source: relative path in a snapshot to file or folder here; empty where it is not here."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that stop."""
        return tuple(p for p in self.problems if p.severity == "error")

    def summary(self) -> str:
        """``34 settings, 2 warnings``."""
        services = self.plan.services if self.plan else ()
        settings = sum(origin.kind == "profile" for s in services for origin in s.origins())
        warnings = sum(1 for p in self.problems if p.severity == "warning")
        return f"{settings} settings" + (f", {warnings} warning{'s' if warnings > 1 else ''}" if warnings else "")


def check(path: Path, *, backend: str | None = None, against: str | None = None) -> Checked:
    """Everything known of the profile at `path`, its names and values judged by its engine, or by another, `against`.

    Raises InputError only for a lock, for what is no YAML mapping, and where `against` is no engine.
    """
    if is_lock_file(path):
        raise InputError(
            f"{path} is a lock, and only profiles are judged", hint=f"pdlaunch up {path} starts it as it is"
        )
    examined: Examined = examine(path)
    loaded = examined.loaded
    gathered = gather(loaded)
    engine, router = _knobs(loaded, gathered)
    engine = knobs_at(against) if against is not None else engine
    today = dt.datetime.now().astimezone().date()
    known = Known(catalogue(cache_dir() / "knobs"), engine, gathered.facts.machine.gpus or (), today)
    judged = (
        [*check_names(loaded, engine, router, known.catalogue), *check_values(loaded, engine, router)] if engine else []
    )
    told = [*examined.problems, *map(loaded.problem, gathered.findings), *judge_profile(loaded), *judged]
    problems = waive(loaded, [*told, *check_declared(loaded, known, told)], today)
    facts = gathered.facts.model_copy(update={"negatable": _negatable(loaded, engine)})
    wrong = any(p.severity == "error" for p in problems)
    plan = None if wrong else resolve(loaded, facts, backend=backend)
    return Checked(loaded, facts, plan, tuple(problems), gathered.roots)


def _negatable(loaded: Loaded, engine: EngineKnobs | None) -> frozenset[str]:
    """The flags that the profile writes and that have a ``--no-`` twin; the other hundreds are not even decoded."""
    written = {name for _, level in levels(loaded.profile) for name in level.args}
    flags = ((name, engine.flags.get(name)) for name in written) if engine else ()
    return frozenset(name for name, flag in flags if flag and flag.negations)


def _knobs(loaded: Loaded, gathered: Gathered) -> tuple[EngineKnobs | None, EngineKnobs | None]:
    """What the engine and the router know of flags and variables; None for one that is not on this machine."""
    cache = cache_dir() / "knobs"
    router = harvest_router(gathered.router_package, cache_dir=cache) if gathered.router_package else None
    if loaded.profile.engine.kind == "simulator":
        return simulator_knobs(), router
    return harvest(gathered.package, cache_dir=cache) if gathered.package else None, router


def sound(checked: Checked) -> Plan:
    """The plan of a profile without errors; raises InputError carrying every problem of one with errors."""
    if checked.errors or checked.plan is None:
        raise faulty(checked.loaded.path, checked.problems)
    return checked.plan


def require_startable(checked: Checked) -> None:
    """Raise InputError where the plan can be shown, but not started on this machine."""
    engine = checked.loaded.profile.engine
    if engine.user and account(engine.user) is None:
        raise InputError(f"there is no user {engine.user!r} on this machine", hint="create it, or drop engine.user")
    if checked.facts.engine is None:
        hint = "pdlaunch engine install cpu" if engine.kind == "cpu" else "pdlaunch engine add PATH says what is there"
        raise InputError(f"there is no serving environment at {engine.venv or 'the usual place'}", hint=hint)
    if engine.source and not Path(engine.source).exists():
        raise InputError(f"engine.source {engine.source} is not there", hint="write where the checkout is, or drop it")
    if checked.loaded.profile.router and checked.facts.router is None:
        raise InputError(
            "there is no sglang-router in the engine's environment or in pdlaunch's own",
            hint="pip install 'pdlaunch[router]', or name an environment with `router: {venv: ...}`",
        )
    if engine.kind == "sglang":
        _require_cards(checked)


def _require_cards(checked: Checked) -> None:
    wanted = sorted({gpu for service in (checked.plan.services if checked.plan else ()) for gpu in service.gpus})
    cards = checked.facts.machine.gpus
    if cards is None:
        raise InputError(
            "there is no NVIDIA driver on this machine, so no card to start on",
            hint="without a GPU: `engine: {kind: cpu}` or `{kind: simulator}`",
        )
    if missing := [gpu for gpu in wanted if gpu >= len(cards)]:
        raise InputError(
            f"there is no GPU {missing[0]}: this machine has {len(cards)} ({', '.join(dict.fromkeys(cards))})",
            hint=f"write gpus between 0 and {len(cards) - 1}",
        )
