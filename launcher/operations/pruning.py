"""`prune`: generations that nobody will come back to are removed; what stays is never broken."""

from __future__ import annotations

from dataclasses import dataclass, replace

from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.evidence import good_of
from launcher.operations.noting import settle
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
    undecided: str | None = None
    """Why no snapshot could be removed: a generation is damaged and does not say which one it runs."""


def to_prune(store: Store, keep: int) -> Pruned:
    """What `prune` would remove; changes nothing.

    Kept are the current one, what `good` means, those with a name, the `keep` newest, those that an operation under way
    goes from or to, and those whose scripts a running service may be started from again.
    """
    numbers = store.numbers()
    kept: dict[int, str] = dict.fromkeys(numbers[max(0, len(numbers) - keep) :], "recent")
    alive = {name: found.digest for name, found in running(store.layout.state).items() if found.digest}
    for number in numbers:
        if number not in kept and (
            same := [name for name, digest in _digests(store, number) if alive.get(name) == digest]
        ):
            kept[number] = f"{', '.join(same)} could be started again from it"
    pending = store.pending()
    ends = (pending.from_generation, pending.to_generation) if pending else ()
    kept |= {number: "under way" for number in ends if number is not None}
    kept |= {number: f"named {name}" for name, number in named(store).items()}
    if (good := good_of(store)) is not None:
        kept[good.generation] = "good"
    current = store.current()
    if current is not None:
        kept[current] = "current"
    stays = {number: kept[number] + _damage(store, number) for number in numbers if number in kept}
    return Pruned(tuple(n for n in numbers if n not in kept), stays, ())


def _damage(store: Store, number: int) -> str:
    try:
        _ = store.generation(number).plan
    except PdlaunchError as error:
        return f"; damaged: {error.message}"
    return ""


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
        try:
            return replace(found, snapshots=store.remove_unused_snapshots())
        except PdlaunchError as error:
            return replace(found, undecided=error.message)


def _digests(store: Store, number: int) -> list[tuple[str, str]]:
    """The services of a generation with their digests; of a damaged one none: it could not be started again anyway."""
    try:
        return [(service.name, service.digest()) for service in store.generation(number).plan.services]
    except PdlaunchError:
        return []
