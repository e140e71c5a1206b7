"""`verify`: whether everything that the way back needs still exists, and what is about to take it away.

Reads and changes nothing, so that it can run each night beside a deployment that serves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from launcher.errors import InputError, PdlaunchError
from launcher.frozen import Frozen
from launcher.observe.machine import account
from launcher.operations.evidence import good_of
from launcher.operations.generations import meant
from launcher.operations.restoring import restoring
from launcher.operations.threats import Threat, threats
from launcher.plan import Plan
from launcher.store import Generation, Store
from launcher.store.names import named

Kind: TypeAlias = Literal["missing", "differs", "unknown", "soon"]
ORDER: tuple[Kind, ...] = ("missing", "differs", "unknown", "soon")
"""Worst first: it cannot be started; it starts on other ground; nobody can tell; it will be so unless …"""


class Finding(Frozen):
    """One thing that stands, or will stand, in the way back."""

    kind: Kind
    generations: tuple[int, ...]
    what: str
    fix: str | None
    """A command, or what to do."""


class Verified(Frozen):
    """What was looked at, and what was found."""

    deployment: str
    generations: tuple[int, ...]
    names: dict[str, int]
    deep: bool
    """Whether every file of the engine was read, rather than its size, time and inode."""
    findings: tuple[Finding, ...]
    """Worst first."""

    @property
    def sound(self) -> bool:
        """Whether each generation can be brought back as it was."""
        return not any(finding.kind in ("missing", "differs") for finding in self.findings)


def verify(store: Store, word: str | None = None, *, deep: bool = False) -> Verified:
    """Look at one generation, or at the current one, what `good` means, and all that have a name.

    Raises InputError where that is none.
    """
    names = named(store)
    numbers = (meant(store, word).number,) if word is not None else _worth_keeping(store, names)
    found: list[Finding] = []
    for number in numbers:
        generation = store.generation(number)
        found += [Finding(kind=k, generations=(number,), what=w, fix=f) for k, w, f in _one(store, generation, deep)]
    found += map(_soon, threats(store, numbers))
    return Verified(
        deployment=store.layout.deployment,
        generations=numbers,
        names={name: number for name, number in names.items() if number in numbers},
        deep=deep,
        findings=tuple(sorted(_merged(found), key=lambda finding: ORDER.index(finding.kind))),
    )


def _worth_keeping(store: Store, names: dict[str, int]) -> tuple[int, ...]:
    current, good = store.current(), good_of(store)
    numbers = {*names.values(), *([current] if current in store.numbers() and current is not None else [])}
    numbers |= {good.generation} if good else set()
    if not numbers:
        raise InputError(f"{store.layout.deployment} has neither served nor has it a name", hint="pdlaunch up PROFILE")
    return tuple(sorted(numbers, reverse=True))


def _soon(threat: Threat) -> Finding:
    return Finding(kind=threat.kind, generations=threat.generations, what=threat.what, fix=threat.fix)


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The same said of several generations is said once."""
    numbers: dict[Finding, list[int]] = {}
    for finding in findings:
        numbers.setdefault(finding.model_copy(update={"generations": ()}), []).extend(finding.generations)
    for finding, found in numbers.items():
        yield finding.model_copy(update={"generations": tuple(sorted(set(found), reverse=True))})


Line: TypeAlias = tuple[Kind, str, str | None]


def _one(store: Store, generation: Generation, deep: bool) -> Iterator[Line]:
    number = generation.number
    for line in store.verify(number, deep=deep):
        what = line.removeprefix(f"generation {number}: ")
        yield "missing", what, "pdlaunch up PROFILE records it anew, as long as its source is as it was"
    try:
        plan = generation.plan
    except PdlaunchError:
        return  # told above
    for look in (_programs, _secrets, _users):
        yield from look(plan)
    yield from _ground(store, generation)


def _programs(plan: Plan) -> Iterator[Line]:
    """The interpreters and other programs that the scripts start, with what their links lead to."""
    for word in dict.fromkeys(service.words()[0] for service in plan.services):
        program = Path(word)
        if not program.is_absolute() or os.access(program, os.X_OK):
            continue
        what = "cannot be executed" if program.exists() else "is gone"
        if program.is_symlink() and not program.exists():
            what = f"is a link to {os.path.realpath(program)}, which is gone"
        yield "missing", f"program {program} {what}", "make that environment again: pdlaunch lock lists its packages"


def _secrets(plan: Plan) -> Iterator[Line]:
    for file in dict.fromkeys(secret.file for service in plan.services for secret in service.secrets):
        if not Path(file).is_file():
            yield "missing", f"secret {file} is gone", f"put the key there again, mode 0600: {file}"


def _users(plan: Plan) -> Iterator[Line]:
    for user in dict.fromkeys(service.user for service in plan.services if service.user):
        if account(user) is None:
            yield "missing", f"user {user} is not on this machine", f"useradd --system {user}"


def _ground(store: Store, generation: Generation) -> Iterator[Line]:
    """What a rollback does not bring back: packages, driver, kernel, cards, settings, the model's files."""
    found = restoring(store, generation, None, ask_driver=True)
    has_model = Path(generation.plan.model_path).exists()
    for beyond in found.beyond:
        of_model = beyond.what.startswith("model ")
        # Limits are those of the servers that run, which need not be this generation's; a whole model is one line.
        if not beyond.what.startswith("limit ") and (has_model or not of_model):
            gone = of_model and beyond.what.endswith(", unset now")
            yield "missing" if gone else "differs", beyond.what, beyond.command
    if found.unknown:
        yield "unknown", found.unknown, None
