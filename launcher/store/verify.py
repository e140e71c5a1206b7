"""Is a generation still what was written? Asked before every start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from launcher.engines.snapshot import verify_snapshot
from launcher.errors import PdlaunchError
from launcher.render.layout import Layout
from launcher.store.generation import ENGINE, SEAL, Generation
from launcher.store.journal import Event


def verify_generation(layout: Layout, generation: Generation, events: Iterable[Event], cache: Path | None) -> list[str]:
    """The seal against the journal, the files against the seal, the engine snapshot against its own digest."""
    label = f"generation {generation.number}"
    try:
        seal = generation.seal
    except PdlaunchError as error:
        return [error.message]
    problems = []
    committed = [e for e in events if e.what == "committed" and e.generation == generation.number]
    if not committed:
        problems.append(f"{label}: the journal does not know it")
    elif committed[-1].details.get("seal") != _sha256(generation.path / SEAL):
        problems.append(f"{label}: {SEAL} was edited: it is not what the journal recorded")
    problems += [f"{label}: {name} {what}" for name, what in _files(generation)]
    if seal.engine is not None:
        link = generation.path / ENGINE
        if not link.is_symlink() or str(link.readlink()) != f"../../engine/{seal.engine}":
            problems.append(f"{label}: {ENGINE} does not lead to the snapshot {seal.engine[:12]}")
        problems += [f"{label}: {problem}" for problem in verify_snapshot(layout.engines, seal.engine, cache=cache)]
    return problems


def _files(generation: Generation) -> Iterable[tuple[str, str]]:
    present = {
        str(path.relative_to(generation.path))
        for path in generation.path.rglob("*")
        if not path.is_dir() and not path.is_symlink()
    }
    for name, expected in generation.seal.files.items():
        if name not in present:
            yield name, "is gone"
        elif _sha256(generation.path / name) != expected:
            yield name, "was cut short or edited"
    for name in sorted(present - generation.seal.files.keys() - {SEAL}):
        yield name, "was added"


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"
