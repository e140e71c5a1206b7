"""`lock --full-hash`: the weights of what runs, read in full once, and their hashes kept in its receipt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from launcher.errors import InputError
from launcher.observe.model_files import hash_weights, model_files
from launcher.operations.events import Event, Report
from launcher.operations.naming import current
from launcher.operations.receipts import keep_receipt, read_receipt, take_receipt
from launcher.store import Store, who, writer


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was read."""

    generation: int
    weights: int
    """Files of weights that the model has."""
    read: int
    """Those whose hash was not known yet."""


def weigh(store: Store, report: Report, *, dry_run: bool = False) -> Weighed:
    """Hash the weights of the current generation's model and put the hashes into its receipt.

    What was read before and has not changed is not read again, also after an interruption. Raises InputError where the
    model is not on this machine, and PdlaunchError where a file cannot be read.
    """
    number = current(store)
    generation = store.generation(number)
    path, cache = generation.plan.model_path, store.layout.cache
    found = model_files(path, cache)
    if not found.present:
        raise InputError(f"the model {path} is not a folder or file on this machine, so there is nothing to read")
    weights = {name: file for name, file in found.files.items() if file.mtime_ns is not None}
    unread = sum(1 for file in weights.values() if file.sha256 is None)
    if not dry_run:
        hash_weights(path, cache, _progress(report))
        by = who()
        with writer(store.layout, "lock", by):
            before = read_receipt(store, number)
            fresh = model_files(path, cache)
            receipt = before.model_copy(update={"model": fresh}) if before else take_receipt(generation, store, by=by)
            keep_receipt(receipt, store)
    return Weighed(number, len(weights), unread)


def _progress(report: Report) -> Callable[[str, int, int], None]:
    def tell(name: str, done: int, total: int) -> None:
        gib = 1 << 30
        report(Event("weights", f"{name}: {done / gib:.1f} of {total / gib:.1f} GiB read", passing=True))

    return tell
