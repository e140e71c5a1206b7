"""The pointer when it moved without a word in the journal: by a command that was killed, or by `activate`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from launcher.render.layout import Layout
from launcher.store.journal import Event
from launcher.store.pending import Pending
from launcher.store.who import name_of

ACTIVATED = "its own activate script, without pdlaunch"


def unjournalled(
    layout: Layout, events: Iterable[Event], pending: Pending | None, by: str | None = None
) -> Event | None:
    """The journal's missing line, or None where its last word and the pointer agree.

    `by` is for who completes the journal after a command that was killed; whoever ran `activate` owns the file.
    """
    path = layout.state / "current"
    try:
        number, status = int(path.read_text()), path.stat()
    except (OSError, ValueError):
        return None
    if next((event.generation for event in reversed((*events,)) if event.what == "current"), None) == number:
        return None
    if pending is not None and pending.to_generation == number:
        why = "recorded after an interruption"
        return Event(what="current", by=by or pending.by, generation=number, why=why)
    at = dt.datetime.fromtimestamp(status.st_mtime).astimezone()
    return Event(what="current", by=name_of(status.st_uid), generation=number, why=ACTIVATED, at=at)
