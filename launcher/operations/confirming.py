"""A change that takes itself back: unless somebody confirms it in time, the former generation returns.

Only systemd can promise that: its timer goes by the clock and outlives a restart of the manager and of the machine, and
a boot brings back what was confirmed. Under supervisord nobody would be there.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from launcher.backends.systemd.returning import arm as arm_timer
from launcher.backends.systemd.returning import disarm as disarm_timer
from launcher.backends.systemd.systemctl import manager
from launcher.errors import BusyError, InputError, ReturnedError
from launcher.operations.driving import command, settle_boot, tell
from launcher.operations.events import Report
from launcher.operations.handover import old_units_start, settle_units, waiting
from launcher.operations.interrupts import interruptible
from launcher.plan import Plan
from launcher.render.systemd.lasting import Return
from launcher.store import Event as JournalEvent
from launcher.store import Generation, Store, who, writer, writing
from launcher.store.unconfirmed import Unconfirmed, remove_unconfirmed, unconfirmed, write_unconfirmed

CONFIRMED, EXPIRED = "confirmed", "not confirmed"
"""What the journal says."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What was confirmed."""

    deployment: str
    generation: int
    former: int


def require_returnable(plan: Plan, store: Store) -> int:
    """The generation that would come back in place of one of `plan`.

    Raises InputError, with the reason, where nothing could come back by itself.
    """
    if plan.backend != "systemd":
        raise InputError(
            f"under {plan.backend} nothing returns by itself: no timer of it would outlive a restart of the machine",
            hint="--confirm needs the systemd backend; here: pdlaunch rollback --to -1",
        )
    if waiting(store):
        raise InputError(
            f"{plan.deployment} still runs under its old units, which could not return by themselves",
            hint="pdlaunch up PROFILE hands over; --confirm works from then on",
        )
    note = waiting_for(store)
    former = note.former if note else store.current()
    if former is None:
        raise InputError(
            f"{plan.deployment} has no former generation to return to: nothing has served yet",
            hint="pdlaunch up PROFILE, without --confirm",
        )
    before = store.generation(former).plan
    if before.backend != "systemd":
        raise InputError(
            f"generation {former} runs under {before.backend}, which no boot starts: it could not return by itself",
            hint="pdlaunch up PROFILE, without --confirm; then pdlaunch rollback goes back",
        )
    return former


def waiting_for(store: Store) -> Unconfirmed | None:
    """What waits for a confirmation: a note counts only while its generation is the current one."""
    note = unconfirmed(store.layout)
    return note if note and note.generation == store.current() else None


def promise(
    generation: Generation, former: int, seconds: float, store: Store, *, by: str, why: str | None
) -> dt.datetime:
    """Have `former` return in place of `generation` that many seconds from now, and at a boot; repeatable."""
    until = dt.datetime.now().astimezone() + dt.timedelta(seconds=seconds)
    note = Unconfirmed(generation=generation.number, former=former, until=until, by=by, why=why)
    write_unconfirmed(store.layout, note)
    if not old_units_start(store):
        before = store.generation(former)
        settle_boot(before.plan, store.layout, before.path)
    arm_timer(
        manager(),
        Return(
            deployment=store.layout.deployment,
            generation=generation.number,
            former=store.layout.generation(former),
            state=store.layout.state,
            due=until,
            command=command(),
        ),
    )
    said = f"generation {former} returns at {note.clock} unless generation {generation.number} is confirmed"
    tell(generation.plan, store.layout, said)
    return until


def take_back(before: Unconfirmed | None, store: Store) -> None:
    """As it was before a promise whose change never began: `before` waits again, or nothing does."""
    if before is None:
        forget(store)
        return
    left = (before.until - dt.datetime.now().astimezone()).total_seconds()
    generation = store.generation(before.generation)
    promise(generation, before.former, max(left, 1.0), store, by=before.by, why=before.why)


def forget(store: Store) -> None:
    """Nothing waits for a confirmation any more: something else was decided. Fine where nothing did."""
    if manager().reachable or unconfirmed(store.layout):
        disarm_timer(manager(), store.layout.deployment)
    if unconfirmed(store.layout):
        remove_unconfirmed(store.layout)


def leave_unconfirmed(store: Store, arrived: int, *, by: str, why: str | None) -> None:
    """After an arrival somewhere else: what was to be confirmed was left, and is written down as that."""
    note = unconfirmed(store.layout)
    if note is not None and note.generation != arrived:
        store.journal.append(JournalEvent(what=EXPIRED, by=by, why=why, generation=note.generation))
        forget(store)


def keep_unconfirmed(store: Store, arrived: int, *, by: str, why: str | None) -> None:
    """After somebody went back to what had been left unconfirmed: that confirms it, and no timer takes it back."""
    note = unconfirmed(store.layout)
    if note is not None and note.generation == arrived:
        store.journal.append(JournalEvent(what=CONFIRMED, by=by, why=why, generation=arrived))
        forget(store)


def confirm(store: Store, report: Report, *, why: str | None = None) -> Confirmed:
    """Keep the generation that runs: nothing returns by itself, and a boot brings it back.

    Raises InputError where nothing waits for that, BusyError while somebody changes the deployment.
    """
    by = who()
    with interruptible(), writer(store.layout, "confirm", by, why):
        note = must_wait(store)
        store.recover(by=by)
        generation = store.generation(note.generation)
        settle_units(generation, store, report, back=False)
        settle_boot(generation.plan, store.layout, generation.path)  # first: without it a boot would go back
        forget(store)
        store.journal.append(JournalEvent(what=CONFIRMED, by=by, why=why, generation=note.generation))
        tell(generation.plan, store.layout, f"confirm by {by}: generation {note.generation} stays")
    return Confirmed(store.layout.deployment, note.generation, note.former)


def must_wait(store: Store) -> Unconfirmed:
    """What waits for a confirmation; raises InputError, saying what became of it, where nothing does."""
    note = unconfirmed(store.layout)
    current = store.current()
    if note and note.generation == current:
        return note
    name = store.layout.deployment
    if note:
        raise InputError(
            f"too late: generation {note.generation} was left, generation {current} is the current one",
            hint=f"pdlaunch status -d {name}",
        )
    last = next((e for e in reversed(store.journal.events()) if e.what in (CONFIRMED, EXPIRED)), None)
    if last and last.what == EXPIRED and last.generation is not None:
        at = last.at.astimezone().strftime("%Y-%m-%d %H:%M")
        raise InputError(
            f"too late: generation {last.generation} was not confirmed in time and was left at {at}",
            hint=f"bring it back: pdlaunch rollback --to {last.generation} -d {name}",
        )
    raise InputError(f"nothing of {name} waits for a confirmation", hint=f"pdlaunch status -d {name}")


def expire(store: Store, report: Report) -> bool:
    """What the timer calls: go back, unless confirmed meanwhile; whether it had to.

    Raises what `rollback` raises; the timer's unit then tries again, with the generation's own script.
    """
    from launcher.operations.rollback import rollback

    by = who()
    if busy := writing(store.layout):
        raise BusyError(f"busy: {busy}", hint="the timer's unit tries again in a moment")
    note = unconfirmed(store.layout)
    if note is None or not (waiting_for(store) or _cut_short(store, note)):
        with writer(store.layout, "confirm", by):
            _close(store, by=by)
        return False
    why = f"generation {note.generation} was not confirmed until {note.clock}"
    tell(store.generation(note.former).plan, store.layout, f"{why}: back to generation {note.former}", bad=True)
    try:
        rollback(store, note.former, report, why=why)
    except ReturnedError:
        # Tried and found impossible: to try again would only interrupt what serves.
        with writer(store.layout, "confirm", by):
            generation = store.generation(note.generation)
            settle_boot(generation.plan, store.layout, generation.path)
            forget(store)
        raise
    return True


def _cut_short(store: Store, note: Unconfirmed) -> bool:
    """Whether the change to what was to be confirmed was begun and never ended: half of it may run."""
    pending = store.pending()
    return pending is not None and pending.to_generation == note.generation


def _close(store: Store, *, by: str) -> None:
    """After a boot that brought the former generation back."""
    current = store.current()
    if current is not None:
        leave_unconfirmed(store, current, by=by, why="the machine was restarted before it was confirmed")
    forget(store)
