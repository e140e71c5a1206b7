"""Making the store whole after a process was killed in the middle of a write."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import PdlaunchError
from launcher.render.layout import Layout
from launcher.store.files import TEMPORARY, remove, remove_tree
from launcher.store.generation import SEAL, Generation
from launcher.store.journal import Event, Journal
from launcher.store.pending import Pending, read_pending
from launcher.store.pointing import unjournalled


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was found and done."""

    removed: tuple[Path, ...]
    """Half-written files and folders."""
    recorded: tuple[int, ...]
    """Generations that were whole and only missing in the journal."""
    pending: Pending | None
    """The operation that was interrupted; whoever recovers continues it or undoes it."""


def recover(layout: Layout, journal: Journal, by: str) -> Recovery:
    """Remove what is half-written or half-removed, complete the journal, and report the interrupted operation.

    Each step can be interrupted and repeated. The journal is written before what it speaks of is removed, so that no
    number is ever given twice.
    """
    events = journal.events()
    leftovers = tuple(_leftovers(layout))
    ever = {kind: {e.generation for e in events if e.what == kind} for kind in ("committed", "abandoned", "removed")}
    for path in leftovers:
        name = path.name.removesuffix(TEMPORARY)
        if path.parent == layout.generations and name.isdecimal():
            # A folder loses its final name only when it is being removed, after it had been committed.
            end = "removed" if int(name) in ever["committed"] else "abandoned"
            if int(name) not in ever[end]:
                journal.append(Event(what=end, by=by, generation=int(name)))
    for path in leftovers:
        remove_tree(path)
    recorded = tuple(_unrecorded(layout, ever["committed"]))
    for number in recorded:
        _record(Generation(layout, number), journal)
    if event := unjournalled(layout, events, read_pending(layout.state / "pending.json"), by):
        journal.append(event)
    return Recovery(leftovers, recorded, _interrupted(layout, events))


def _leftovers(layout: Layout) -> list[Path]:
    folders = (layout.state, layout.generations, layout.engines)
    return sorted(path for folder in folders for path in folder.glob(f"*{TEMPORARY}"))


def _unrecorded(layout: Layout, known: set[int | None]) -> list[int]:
    if not layout.generations.is_dir():
        return []
    names = (path.name for path in layout.generations.iterdir())
    return sorted(int(name) for name in names if name.isdecimal() and int(name) not in known)


def _record(generation: Generation, journal: Journal) -> None:
    """A folder with its final name is whole: the rename came last. Only the journal's line is missing."""
    seal = hashlib.sha256((generation.path / SEAL).read_bytes()).hexdigest()
    try:
        about = generation.about
    except PdlaunchError:  # edited since; `verify` will say so
        return
    journal.append(
        Event(
            what="committed",
            by=about.by,
            why=about.why,
            generation=generation.number,
            at=about.written,
            details={"seal": seal},
        )
    )


def _interrupted(layout: Layout, events: tuple[Event, ...]) -> Pending | None:
    path = layout.state / "pending.json"
    pending = read_pending(path)
    if pending is not None and any(event.details.get("id") == pending.id for event in events):
        remove(path)  # it had finished; only the note was left
        return None
    return pending
