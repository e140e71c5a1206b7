"""What is written beside the work. On a full disk that is told and the work goes on.

What is to be done next follows from what runs, so that no step depends on these notes; the pointer to the generation
that serves is no such note.
"""

from __future__ import annotations

import errno
from collections.abc import Callable

from launcher.errors import PdlaunchError
from launcher.operations.events import Event, Report
from launcher.store import Store

BEGUN = "begun"
"""The step that `Store.begin` notes: nothing was touched yet."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: PdlaunchError) -> bool:
    """Whether the disk's want of room is what it is about."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _FULL


def noted(report: Report, note: Callable[[], object]) -> bool:
    """Whether `note` was written; a full disk is told and keeps nobody from going on, least of all from going back."""
    try:
        note()
    except PdlaunchError as error:
        if not is_full(error):
            raise
        report(Event("note", f"not written: {error.message}"))
        return False
    return True


def settle(store: Store, *, by: str) -> None:
    """Close the note of an operation whose process died: what is to be done next follows from what runs."""
    if store.pending() is not None:
        store.finish("interrupted", by=by)


class Note:
    """The store's note of the operation under way."""

    def __init__(self, store: Store, report: Report) -> None:
        self._store, self._report = store, report
        self._written = False
        self.step = BEGUN
        """The step begun last, written or not."""

    def begin(
        self, operation: str, *, to_generation: int | None, from_generation: int | None, by: str, why: str | None
    ) -> None:
        """Close what an earlier command left, and write down what is about to be done."""

        def write() -> None:
            settle(self._store, by=by)
            self._store.begin(operation, from_generation=from_generation, to_generation=to_generation, by=by, why=why)

        self._written = noted(self._report, write)

    def advance(self, step: str) -> None:
        """Write down the step that is about to be taken."""
        self.step = step
        if self._written:
            noted(self._report, lambda: self._store.advance(step))

    def finish(self, outcome: str, *, by: str, why: str | None, untouched: bool = False) -> None:
        """Write down how it ended."""
        if self._written:
            noted(self._report, lambda: self._store.finish(outcome, by=by, why=why, untouched=untouched))
