"""What `up` starts: a profile, which is judged, or a lock, which is taken as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from launcher.engines.manifest import manifest
from launcher.engines.snapshot import verify_snapshot
from launcher.errors import InputError
from launcher.lock import Intent, Lock, Read, bundle_digests, plan_of, read_lock
from launcher.observe.machine import account
from launcher.operations.checking import check, require_startable, sound
from launcher.operations.engine_reading import installed
from launcher.operations.facts import simulator_roots
from launcher.operations.sealing import record, recorded_before, seal, take_snapshot
from launcher.plan import Plan
from launcher.profile import is_lock_file
from launcher.store import Generation, Store

Sealing: TypeAlias = Callable[[Store, str, str | None], tuple[Generation, bool]]
"""Given the store, who and why: the generation that starts exactly this, and whether it is a new one."""


@dataclass(frozen=True, slots=True)
class Start:
    """Something that can be started here."""

    plan: Plan
    """With the engine's source as far as it is known before it is copied."""
    summary: str
    """What was checked, for a person."""
    seal: Sealing


def start_of(path: Path, *, backend: str | None = None) -> Start:
    """What the profile or the lock at `path` starts.

    Raises InputError for a profile with errors, for a lock that was cut short or edited, and for what this machine
    lacks to start either.
    """
    if is_lock_file(path):
        return _of_lock(path, backend)
    checked = check(path, backend=backend)
    plan = sound(checked)
    require_startable(checked)
    return Start(plan, checked.summary(), lambda store, by, why: seal(checked, store, backend=backend, by=by, why=why))


def _of_lock(path: Path, backend: str | None) -> Start:
    lock = read_lock(path)
    plan = plan_of(lock)
    if backend not in {None, plan.backend}:
        raise InputError(f"{path} was locked for {plan.backend}, not {backend}", hint=f"pdlaunch up {path}")
    _require_startable(plan, path)
    return Start(
        plan,
        f"{path} as it was locked{_drifted(lock.intent, plan)}",
        lambda store, by, why: seal_lock(lock, plan, store, source=str(path.absolute()), by=by, why=why),
    )


def _drifted(intent: Intent, plan: Plan) -> str:
    """What of the engine's environment is no longer as the lock recorded it, which no start can bring back."""
    now, then = installed(plan), intent.engine.packages.versions
    if now is None or now == then:
        return ""
    names = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    first = f"{names[0]} {then.get(names[0], 'absent')} -> {now.get(names[0], 'absent')}"
    return f", but other packages are installed now: {first}" + (f" and {len(names) - 1} more" if names[1:] else "")


def seal_lock(
    lock: Lock, plan: Plan, store: Store, *, source: str, by: str, why: str | None
) -> tuple[Generation, bool]:
    """The generation that starts exactly the lock's plan, and whether it is a new one.

    Raises InputError where the engine's source is neither kept here nor to be found as it was.
    """
    _bring_source(lock.intent, store)
    if same := recorded_before(plan, store, _read(lock.intent)):
        return same, False
    intent = lock.intent.model_copy(update={"bundle": bundle_digests(plan)})
    profile = f"# there was no profile: this generation was made from {source}\n".encode()
    return record(plan, intent, store, profile=profile, source=source, by=by, why=why), True


def _require_startable(plan: Plan, path: Path) -> None:
    """Raise InputError for a user or a program that this machine does not have."""
    for service in plan.services:
        if service.user and account(service.user) is None:
            raise InputError(f"{path}: there is no user {service.user!r} on this machine", hint="create it")
        program = service.words()[0]
        if not Path(program).exists():
            raise InputError(
                f"{path}: {program}, which runs {service.name}, is not on this machine",
                hint="install the engine there, or start the profile: pdlaunch up PROFILE",
            )


def _bring_source(intent: Intent, store: Store) -> None:
    """See to it that the store holds the engine's source as the lock names it."""
    wanted = intent.engine.source.tree
    place = store.layout
    hashes = place.cache / f"hashes-{place.deployment}.json"
    if wanted is None or not verify_snapshot(place.engines, wanted, cache=hashes):
        return
    roots = _roots(intent)
    present = manifest(roots, cache=hashes).digest if all(root.exists() for root in roots.values()) else None
    if not roots or present != wanted:
        raise _elsewhere(intent, present)
    take_snapshot(roots, store)


def _roots(intent: Intent) -> dict[str, Path]:
    """Where the source was read."""
    source = intent.engine.source
    if intent.engine.kind == "simulator":
        return simulator_roots(source.path)
    return {"sglang": Path(source.package)} if source.package else {}


def _elsewhere(intent: Intent, present: str | None) -> InputError:
    source = intent.engine.source
    where = source.package or source.path or "pdlaunch itself"
    commit = f", commit {source.head[:12]}" if source.head else ""
    edits = f", {len(source.edited)} edited" if source.edited else ""
    now = f"has {present[:12]} now" if present else "is gone"
    return InputError(
        f"the engine's source {str(source.tree)[:12]} ({where}{commit}{edits}) is not kept here, and {where} {now}",
        hint="bring that source back there, or start what is there now: pdlaunch up PROFILE",
    )


def _read(intent: Intent) -> Read:
    """What the lock says of the packages: a generation made of it is the same one."""
    return Read(
        packages=intent.engine.packages.versions,
        nixl=intent.transfer.nixl,
        ucx=intent.transfer.ucx,
        router=intent.router.version if intent.router else None,
    )
