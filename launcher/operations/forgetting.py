"""Forgetting a deployment that is stopped: its generations, names, journal, logs and units are removed for good."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from launcher.errors import InputError
from launcher.observe.running import running
from launcher.operations.confirming import forget as forget_confirmation
from launcher.operations.driving import forget_installed, settle_boot
from launcher.operations.targets import forget_targets
from launcher.store import Store, names_of, release, who, writer
from launcher.store.files import in_words, remove_tree

_DOOMED = ".forgotten"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What goes, or went."""

    deployment: str
    generations: tuple[int, ...]
    names: tuple[str, ...]


def to_forget(store: Store) -> Forgotten:
    """What `forget` would remove; raises InputError while something of the deployment runs."""
    name = store.layout.deployment
    if now := running(store.layout.state):
        raise InputError(f"{name} still runs: {', '.join(now)}", hint=f"pdlaunch down -d {name}")
    numbers = store.numbers()
    return Forgotten(name, numbers, tuple(word for number in numbers for word in names_of(store, number)))


def forget(store: Store, *, why: str | None = None) -> Forgotten:
    """Remove everything of a stopped deployment; killed in between, the same again completes it.

    Raises InputError while something of it runs, BusyError while somebody changes it, and PdlaunchError for what the
    system refuses.
    """
    layout = store.layout
    doomed = layout.state.with_name(f".{layout.deployment}{_DOOMED}")
    with writer(layout, "prune", who(), why):
        found = to_forget(store)
        forget_confirmation(store)
        settle_boot(None, layout, None)  # first: no boot may start what is half gone
        forget_installed(layout)
        forget_targets(layout)
        release(layout)
        with in_words(f"forget {layout.deployment}", layout.state):
            for left in (doomed, *layout.state.parent.glob(f".*{_DOOMED}")):
                remove_tree(left)
            layout.state.rename(doomed)  # from here on there is no such deployment
            remove_tree(doomed)
            (layout.cache / f"hashes-{layout.deployment}.json").unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                remove_tree(layout.run)
    return found
