"""`prune`: generations that nobody will come back to are removed; what stays is never broken."""

from __future__ import annotations

from dataclasses import dataclass

from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.arriving import settle
from launcher.operations.evidence import good_of
from launcher.operations.receipts import receipts_folder
from launcher.store import Store, who, writer
from launcher.store.files import remove_tree
from launcher.store.names import named

RECENT = 20
"""Generations that are kept for being recent."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What goes, and what stays for which reason."""

    removed: tuple[int, ...]
    kept: dict[int, str]
    snapshots: tuple[str, ...]
    """Digests of the engine snapshots that went along."""


def to_prune(store: Store, keep: int) -> Pruned:
    """What `prune` would remove; changes nothing.

    Kept are the current one, what `good` means, those with a name, the `keep` newest, those that an operation under way
    goes from or to, and those whose scripts a running service may be started from again.
    """
    numbers = store.numbers()
    kept: dict[int, str] = dict.fromkeys(numbers[max(0, len(numbers) - keep) :], "recent")
    alive = {found.digest for found in running(store.layout.state).values() if found.digest}
    for number in numbers:
        if alive and number not in kept and alive & _digests(store, number):
            kept[number] = "runs"
    pending = store.pending()
    ends = (pending.from_generation, pending.to_generation) if pending else ()
    kept |= {number: "under way" for number in ends if number is not None}
    kept |= {number: f"named {name}" for name, number in named(store).items()}
    if (good := good_of(store)) is not None:
        kept[good.generation] = "good"
    current = store.current()
    if current is not None:
        kept[current] = "current"
    return Pruned(tuple(n for n in numbers if n not in kept), {n: kept[n] for n in numbers if n in kept}, ())


def prune(store: Store, keep: int, *, why: str | None = None) -> Pruned:
    """Remove what `to_prune` names, oldest first, then the engine snapshots that nothing left needs.

    Raises BusyError while somebody changes the deployment.
    """
    by = who()
    with writer(store.layout, "prune", by, why):
        store.recover(by=by)
        settle(store, by=by)
        found = to_prune(store, keep)
        for number in found.removed:
            store.remove(number, by=by, why=why)
            remove_tree(receipts_folder(store.layout, number))
        snapshots = store.remove_unused_snapshots()
    return Pruned(found.removed, found.kept, snapshots)


def _digests(store: Store, number: int) -> set[str]:
    """The digests of a generation's services; of a damaged one none: it could not be started again anyway."""
    try:
        return {service.digest() for service in store.generation(number).plan.services}
    except PdlaunchError:
        return set()
