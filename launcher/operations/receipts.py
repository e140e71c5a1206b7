"""Receipts: what a start stood on and what the engine made of it, kept beside the generation that was started."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from launcher import __version__
from launcher.errors import PdlaunchError
from launcher.lock import digests
from launcher.lock.fingerprint import fingerprint
from launcher.lock.observed import Observed
from launcher.lock.receipt import Receipt
from launcher.lock.record import Taken
from launcher.observe.cards import cards
from launcher.observe.host import host
from launcher.observe.model_files import model_files
from launcher.observe.running import Running, running
from launcher.operations.engine_reading import installed
from launcher.operations.events import Event, Report
from launcher.operations.observing import observe
from launcher.plan import Plan
from launcher.render import Layout
from launcher.store import Generation, Store
from launcher.store.files import in_words, make_folder, replace, write
from launcher.store.journal import now
from launcher.store.process import boot_id

RECEIPT, OBSERVED = "receipt.yaml", "observed.yaml"
_KEY = "fingerprint.key"


def receipts_folder(layout: Layout, number: int) -> Path:
    """Where the receipts of generation `number` lie: outside its folder, which never changes."""
    return layout.state / "receipts" / str(number)


def keep_receipts(generation: Generation, store: Store, report: Report, *, by: str) -> None:
    """Take both records of a generation that has just been started; what hinders that is told and stops nothing."""
    try:
        write_receipts(generation, store, by=by)
    except PdlaunchError as error:
        report(Event("receipt", f"not kept: {error.message}"))


def write_receipts(generation: Generation, store: Store, *, by: str) -> tuple[Receipt, Observed]:
    """Take both records of a generation and put them in the place of earlier ones.

    Raises PdlaunchError where something cannot be read or written.
    """
    servers = running(store.layout.state)
    receipt = take_receipt(generation, store, by=by, servers=servers)
    observed = take_observed(generation, store, by=by, servers=servers)
    keep_receipt(receipt, store)
    _put(store, generation.number, OBSERVED, observed.to_yaml())
    return receipt, observed


def keep_receipt(receipt: Receipt, store: Store) -> None:
    """Put a receipt in the place of the earlier one; raises PdlaunchError where it cannot be written."""
    _put(store, receipt.generation, RECEIPT, receipt.to_yaml())


def _put(store: Store, number: int, name: str, text: str) -> None:
    folder = receipts_folder(store.layout, number)
    with in_words("write the receipt", store.layout.state):
        make_folder(folder)
        replace(folder / name, text.encode())


def read_receipt(store: Store, number: int) -> Receipt | None:
    """The receipt of generation `number`, or None where it was never started; InputError for a damaged one."""
    path = receipts_folder(store.layout, number) / RECEIPT
    return Receipt.from_yaml(path.read_text(encoding="utf-8"), path) if path.is_file() else None


def read_observed(store: Store, number: int) -> Observed | None:
    """What was observed of generation `number` after its last start, or None; InputError for a damaged record."""
    path = receipts_folder(store.layout, number) / OBSERVED
    return Observed.from_yaml(path.read_text(encoding="utf-8"), path) if path.is_file() else None


def take_receipt(
    generation: Generation,
    store: Store,
    *,
    by: str,
    servers: Mapping[str, Running] | None = None,
    ask_driver: bool = True,
) -> Receipt:
    """The receipt as it would be written now; writes nothing but the key of the fingerprints, once.

    `servers` is what runs, where that is known already. Without `ask_driver` nothing waits for a driver that hangs, and
    the cards are as far as /proc shows them. Raises PdlaunchError where the model cannot be read.
    """
    plan, layout = generation.plan, store.layout
    found = running(layout.state) if servers is None else servers
    return Receipt(
        deployment=plan.deployment,
        generation=generation.number,
        lock=_digest(generation),
        about=_taken(by),
        # Always the same server: engines raise their own limits, so that two would tell two things.
        machine=host(
            next((found[s.name].main.pid for s in plan.services if s.name in found), None),
            cards=cards() if ask_driver and plan.engine.kind == "sglang" else None,
        ),
        model=model_files(plan.model_path, layout.cache),
        packages=digests.of(packages) if (packages := installed(plan)) is not None else None,
        secrets=fingerprints(plan, layout),
    )


def take_observed(
    generation: Generation, store: Store, *, by: str, servers: Mapping[str, Running] | None = None
) -> Observed:
    """What runs now, as it would be written; keys and secrets are in none of it."""
    plan, layout = generation.plan, store.layout
    return Observed(
        deployment=plan.deployment,
        generation=generation.number,
        lock=_digest(generation),
        about=_taken(by),
        boot=boot_id(),
        services=observe(plan, running(layout.state) if servers is None else servers, layout),
    )


def _digest(generation: Generation) -> str | None:
    return generation.lock.intent.digest if generation.lock else None


def fingerprints(plan: Plan, layout: Layout) -> dict[str, str | None]:
    """The keyed fingerprint of each secret's value, by variable; by service too where two take another file."""
    files: dict[str, set[str]] = {}
    for service in plan.services:
        for secret in service.secrets:
            files.setdefault(secret.name, set()).add(secret.file)
    if not files:
        return {}
    key = _key(layout)
    found = {}
    for name, places in sorted(files.items()):
        for file in sorted(places):
            found[name if len(places) == 1 else f"{name} ({file})"] = _fingerprint(Path(file), key)
    return found


def _fingerprint(file: Path, key: bytes | None) -> str | None:
    with contextlib.suppress(OSError):
        return fingerprint(file.read_bytes(), key) if key else None
    return None


def _key(layout: Layout) -> bytes | None:
    """The deployment's own key, made at first use; None for somebody who may neither read nor make it."""
    path = layout.state / _KEY
    with contextlib.suppress(OSError):
        make_folder(layout.state)
        with contextlib.suppress(FileExistsError):
            write(path, os.urandom(32), 0o600)
        return path.read_bytes()
    return None


def _taken(by: str) -> Taken:
    return Taken(at=now().replace(microsecond=0), by=by, pdlaunch=__version__)
