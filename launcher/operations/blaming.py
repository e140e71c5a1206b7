"""Which generation brought each value, read from the store with as little as that takes."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

from launcher.compare import Change, Setting
from launcher.compare.blame import brought
from launcher.compare.change import Kind
from launcher.compare.section import Section
from launcher.compare.settings import plan_settings, settings_of
from launcher.compare.source import touched
from launcher.errors import PdlaunchError
from launcher.operations.recorded import bundle, decided, machine, packages
from launcher.operations.sides import snapshot_of
from launcher.store import Generation, Store

T = TypeVar("T")


class Memory:
    """What several generations have in common, by digest."""

    def __init__(self) -> None:
        self.settings: dict[str, Mapping[tuple[Kind, str], Setting]] = {}
        self.plans: dict[str, Mapping[str, Setting]] = {}
        self.packages: dict[str, Mapping[str, str]] = {}
        self.files: dict[tuple[str, str], Hashable] = {}
        self.records: dict[str, Mapping[str, Any]] = {}


class Recalled:
    """A generation that is asked for single values."""

    def __init__(self, generation: Generation, store: Store, memory: Memory) -> None:
        self.number = generation.number
        self._generation, self._store, self._memory = generation, store, memory

    def value(self, change: Change) -> Hashable:
        """What `change` is about, as this generation has it; PdlaunchError where it has no record of it."""
        seal, memory = self._generation.seal, self._memory
        match change.kind:
            case "service":
                return tuple(name in seal.services for name in change.services)
            case "source":
                return self._file(change.name)
            case "package":
                return self._packages.get(change.name)
            case "plan":
                if seal.digest not in memory.plans:
                    memory.plans[seal.digest] = plan_settings(self._generation.plan)
                return _value(memory.plans[seal.digest].get(change.name))
            case "file" | "receipt" | "decided":
                return self._of_record(change)
        return tuple(_value(self._service(name).get((change.kind, change.name))) for name in change.services)

    def _of_record(self, change: Change) -> Hashable:
        place = self._store.layout
        if change.kind == "decided":
            services: Mapping[str, Mapping[str, str]] = self._recorded(decided(place, self.number))
            return tuple(services.get(name, {}).get(change.name) for name in change.services)
        section = bundle(self._generation) if change.kind == "file" else machine(place, self.number)
        return self._recorded(section).get(change.name)

    def _recorded(self, section: Section[T] | None) -> Mapping[str, T]:
        """What is kept of the last start; PdlaunchError for a generation that never started."""
        if section is None:
            raise PdlaunchError(f"generation {self.number} has no record of a start")
        known = self._memory.records.setdefault(section.digest, section)
        return cast("Mapping[str, T]", known)

    def _service(self, name: str) -> Mapping[tuple[Kind, str], Setting]:
        digest = self._generation.seal.services.get(name)
        if digest is None:
            return {}
        known = self._memory.settings
        if digest not in known:
            service = self._generation.plan.service(name)
            known[digest] = settings_of(service) if service else {}
        return known[digest]

    def _file(self, name: str) -> Hashable:
        digest = self._generation.seal.engine
        if digest is None or not name:
            return digest
        known, key = self._memory.files, (digest, name)
        if key not in known:  # one file of a snapshot is read faster than a manifest of thousands of lines
            content = snapshot_of(self._store.layout, digest).read(name)
            known[key] = None if content is None else hashlib.sha256(content).digest()
        return known[key]

    @cached_property
    def _packages(self) -> Mapping[str, str]:
        found = packages(self._generation)
        if found is None:
            raise PdlaunchError(f"generation {self.number} has no record of its packages")
        return self._memory.packages.setdefault(found.digest, found)


def _value(setting: Setting | None) -> str | None:
    return setting.value if setting else None


def blame(changes: Sequence[Change], one: Generation, other: Generation, store: Store) -> Mapping[Change, Generation]:
    """For each change between two generations the one that brought the newer value; none for what has no history."""
    older, newer = sorted((one, other), key=lambda g: g.number)
    memory = Memory()
    between = [n for n in store.numbers() if older.number < n < newer.number]
    past = (Recalled(store.generation(n), store, memory) for n in reversed(between))
    newest = Recalled(newer, store, memory)
    known = []
    for change in changes:
        try:
            newest.value(change)
        except PdlaunchError:
            continue
        known.append(change)
    return {change: store.generation(n) for change, n in brought(known, newest, past).items()}


def touched_between(one: Generation, other: Generation, store: Store) -> tuple[str, ...]:
    """Source files that both generations have alike and one between them had otherwise: edited and taken back."""
    older, newer = sorted((one, other), key=lambda g: g.number)
    between = (store.generation(n) for n in store.numbers() if older.number < n < newer.number)
    ends = [_snapshot(older), _snapshot(newer)]
    digests = dict.fromkeys(digest for g in between if (digest := _snapshot(g)) and digest not in ends)
    trees = [snapshot_of(store.layout, digest) for digest in (*ends, *digests)]
    return touched(trees[0], trees[1], trees[2:]) if digests else ()


def _snapshot(generation: Generation) -> str | None:
    try:
        return generation.seal.engine
    except PdlaunchError:
        return None
