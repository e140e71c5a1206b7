"""What a reader of `status` should know of what comes back by itself: after a time, and after a boot."""

from __future__ import annotations

from launcher.operations.confirming import waiting_for
from launcher.operations.driving import boots
from launcher.operations.handover import old_units_start
from launcher.plan import Plan
from launcher.store import Store
from launcher.store.unconfirmed import unconfirmed


def about_boot(plan: Plan, store: Store) -> tuple[str | None, str | None]:
    """What to say where a boot would bring back something else than runs, and what to type."""
    name = f" -d {store.layout.deployment}"
    current = store.current()
    if note := waiting_for(store):
        said = f"not confirmed: generation {note.former} returns at {note.clock}, and at a boot"
        return said, f"pdlaunch confirm{name} keeps generation {note.generation}"
    if plan.backend != "systemd":
        return None, None
    if (left := unconfirmed(store.layout)) is not None:
        return f"generation {left.generation} was left before it was confirmed; generation {current} stays", None
    after = boots(store.layout)
    if after == current or (after is None and old_units_start(store)):
        return None, None
    would = f"generation {after}" if after is not None else "nothing"
    said = f"a boot would bring back {would}: an interrupted command came to all but that"
    return said, "pdlaunch up PROFILE settles that, and restarts only what differs"
