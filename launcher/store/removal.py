"""Taking generations away for good, and the engine snapshots that none of those left needs."""

from __future__ import annotations

from launcher.errors import PdlaunchError
from launcher.render.layout import Layout
from launcher.store.files import TEMPORARY, empty_tree, remove_tree, sync_folder
from launcher.store.generation import ENGINE, Generation
from launcher.store.journal import Event, Journal


def remove_generation(layout: Layout, journal: Journal, event: Event) -> None:
    """Give the generation of `event` a temporary name, journal the removal, then delete; `recover` completes it."""
    folder = layout.generation(event.generation or 0)
    doomed = folder.with_name(folder.name + TEMPORARY)
    remove_tree(doomed)
    folder.rename(doomed)
    sync_folder(layout.generations)
    try:
        journal.append(event)
    except PdlaunchError:
        # Perhaps the disk is full, which is why it is removed. Emptied, the folder makes room for the line, and still
        # keeps its number from being given again.
        empty_tree(doomed)
        journal.append(event)
    remove_tree(doomed)


def remove_unused_snapshots(layout: Layout, generations: tuple[Generation, ...]) -> tuple[str, ...]:
    """Delete the engine snapshots that none of `generations` runs; their digests.

    Raises:
        PdlaunchError: a generation does not say any more which one it runs, so none is deleted.
    """
    if not layout.engines.is_dir():
        return ()
    used = {_engine_of(generation) for generation in generations}
    unused = sorted({path.name.partition(".")[0] for path in layout.engines.iterdir()} - used)
    for digest in unused:
        folder = layout.engines / digest
        doomed = folder.with_name(folder.name + TEMPORARY)
        remove_tree(doomed)
        if folder.exists():
            folder.rename(doomed)
            sync_folder(layout.engines)
        (layout.engines / f"{digest}.json").unlink(missing_ok=True)
        remove_tree(doomed)
    return tuple(unused)


def _engine_of(generation: Generation) -> str | None:
    """The snapshot that a generation runs: by its seal, or where that is damaged by the link that it starts from."""
    try:
        return generation.seal.engine
    except PdlaunchError:
        link = generation.path / ENGINE
        if link.is_symlink():
            return link.readlink().name
        raise


def must_not_be_needed(number: int, current: int | None, under_way: tuple[int | None, ...]) -> None:
    """Refuse to remove what runs or is about to.

    Raises:
        PdlaunchError: the generation is the current one, or an operation that is under way goes from or to it.
    """
    if number == current:
        raise PdlaunchError(f"generation {number} is the current one", hint="go to another one first, or keep it")
    if number in under_way:
        raise PdlaunchError(f"generation {number} is needed by the operation under way", hint="pdlaunch status")
