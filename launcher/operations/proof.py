"""What this machine's own traffic proves of a knob: for each value, over the generations that had it."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from launcher.errors import PdlaunchError
from launcher.operations.evidence import counted, hours
from launcher.operations.proven_before import probed
from launcher.plan import Plan, Service
from launcher.store import Store
from launcher.store.served import Served, served

_GENERATIONS = 50
"""How far back a value is followed."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One value of a knob in service here. Services that have different values are told together."""

    value: str | None
    """None where it was not set."""
    generations: tuple[int, ...]
    """Those that had it, lowest first, as far as they were watched or probed."""
    seconds: float
    requests: int
    longest: int
    """Tokens of the longest context that a client completed with it, at least."""
    probe: int
    """Tokens of the longest prompt of pdlaunch's own that was answered with it."""
    hung: dt.datetime | None
    """When it first hung with it."""
    deaths: int

    def __str__(self) -> str:
        """``512: 41,310 tokens, 19 requests, 1 h 36 min, then hung (38-43)``."""
        parts = [f"{max(self.longest, self.probe):,} tokens" + (" by probe only" if not self.longest else "")]
        if self.requests:
            parts += [counted(self.requests, "request"), hours(self.seconds)]
        if self.hung:
            parts.append("then hung")
        if self.deaths:
            parts.append(f"{counted(self.deaths, 'service')} died")
        return f"{self.value or 'unset'}: {', '.join(parts)} ({_ranges(self.generations)})"


def proof(store: Store, knob: str) -> tuple[Proof, ...]:
    """What traffic and probes prove of each value of `knob`, a variable or a flag without its dashes; best first.

    A generation that cannot be read, or that nobody watched or probed, proves nothing.
    """
    watched, probes = served(store.layout), probed(store.journal.events())
    found: dict[str | None, list[int]] = defaultdict(list)
    for generation in store.generations()[-_GENERATIONS:]:
        if generation.number not in watched and generation.number not in probes:
            continue
        try:
            found[_value(generation.plan, knob)].append(generation.number)
        except PdlaunchError:
            continue
    proofs = [_proof(value, numbers, watched, probes) for value, numbers in found.items()]
    return tuple(sorted(proofs, key=lambda p: (p.hung is not None, -p.longest, -p.probe)))


def _proof(value: str | None, numbers: list[int], watched: Mapping[int, Served], probes: Mapping[int, int]) -> Proof:
    rows = [watched[number] for number in numbers if number in watched]
    return Proof(
        value=value,
        generations=tuple(numbers),
        seconds=sum(row.seconds for row in rows),
        requests=sum(row.requests for row in rows),
        longest=max((row.longest for row in rows), default=0),
        probe=max((probes.get(number, 0) for number in numbers), default=0),
        hung=min((row.hung for row in rows if row.hung), default=None),
        deaths=sum(row.deaths for row in rows),
    )


def _value(plan: Plan, knob: str) -> str | None:
    """The knob's value in a plan; where services differ, each of their values with their names."""
    values: dict[str | None, list[str]] = defaultdict(list)
    for service in plan.services:
        values[_of(service, knob)].append(service.name)
    said = {value: names for value, names in values.items() if value is not None}
    if len(said) == 1:
        return next(iter(said))
    return ", ".join(f"{value} on {' '.join(names)}" for value, names in said.items()) or None


def _of(service: Service, knob: str) -> str | None:
    for variable in service.env:
        if variable.name == knob:
            return variable.value
    if any(secret.name.lstrip("-") == knob for secret in service.secrets):
        return "a secret"
    for argument in service.argv[1:]:
        flag, equals, joined = argument.words[0].partition("=")
        if flag == f"--{knob}":
            return joined if equals else " ".join(argument.words[1:]) or "set"
    return None


def _ranges(numbers: tuple[int, ...]) -> str:
    """``38-43``, ``37``, ``1, 3-4``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
