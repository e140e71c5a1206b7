"""`doctor`: whether this machine can serve a deployment; and what of it `up` asks before it stops anything."""

from __future__ import annotations

import datetime as dt
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from launcher.doctor import Verdict, judge
from launcher.errors import InputError, PdlaunchError
from launcher.observe.cards import Cards
from launcher.operations.gathering import Depth, before_up, gather
from launcher.operations.selecting import select
from launcher.plan import Plan
from launcher.store import Store, deployments, layout


@dataclass(frozen=True, slots=True)
class Examination:
    """What the doctor found."""

    subject: str
    """The profile, the deployment, or the machine."""
    verdict: Verdict
    seconds: float


@dataclass(frozen=True, slots=True)
class _Target:
    subject: str
    plan: Plan | None = None
    store: Store | None = None
    depth: Depth = field(default_factory=Depth)


def doctor(profile: Path | None, deployment: str | None, *, deep: bool = False) -> Examination:
    """Examine this machine for a profile or lock, for a deployment, or, where there is neither, by itself.

    Raises InputError for a profile with errors, and for a deployment that there is not.
    """
    began = time.monotonic()
    target = _of_profile(profile) if profile else _of_deployment(deployment)
    place = layout(target.plan.deployment) if target.plan else None
    facts = gather(target.plan, target.store, place, replace(target.depth, deep=deep))
    return Examination(target.subject, judge(facts, _today()), time.monotonic() - began)


def examine_card(index: int) -> Examination:
    """Examine one card by itself; raises PdlaunchError where there is none, or no driver that could tell."""
    began = time.monotonic()
    facts = gather(None, None, None, Depth())
    found = facts.cards
    if not isinstance(found, Cards):
        why = found.reason if found else "there is none"
        raise PdlaunchError(f"no GPU can be asked: {why}", hint="pdlaunch doctor")
    if found.card(index) is None and index not in found.lost:
        raise InputError(f"there is no GPU {index}", hint="nvidia-smi -L shows which there are")
    alone = replace(
        found,
        cards=tuple(card for card in found.cards if card.index == index),
        lost={key: said for key, said in found.lost.items() if key == index},
        pairs=(),
    )
    address = alone.cards[0].pci if alone.cards else None
    xids = tuple(x for x in facts.xids if x.pci == address) if isinstance(facts.xids, tuple) else facts.xids
    verdict = judge(replace(facts, cards=alone, xids=xids), _today())
    about = tuple(f for f in verdict.findings if f.code.startswith(("DR1", "DR2")))
    return Examination(f"GPU {index}", replace(verdict, findings=about, left_out=()), time.monotonic() - began)


def require_healthy(plan: Plan, store: Store, *, replacing: bool = False) -> None:
    """What speaks against starting `plan` now, in the time that `up` has; raises PdlaunchError where something does.

    What other deployments hold counts as free where they are about to be stopped (`replacing`). The transfer, the
    import and the router are left to `doctor`: they cost seconds, and the start tries them itself.
    """
    facts = before_up(plan, store, store.layout)
    if replacing:
        theirs = {holder.pid for holder in facts.holders.values() if holder.deployment}
        facts = replace(facts, ours=facts.ours | theirs)
    blockers = judge(facts, _today(), before_up=True).of("blocker")
    if blockers:
        lines = [f"{f.code}  {f.text}" + (f"\n       fix  {f.fix}" if f.fix else "") for f in blockers]
        codes = ", ".join(dict.fromkeys(f.code for f in blockers))
        raise PdlaunchError(
            "this machine cannot serve it now, and nothing was stopped:\n" + "\n".join(lines),
            hint=f"pdlaunch doctor -d {plan.deployment}; to start all the same, allow {codes} in the profile",
        )


def _today() -> dt.date:
    return dt.datetime.now().astimezone().date()


def _of_profile(path: Path) -> _Target:
    from launcher.operations.checking import check, sound
    from launcher.profile import is_lock_file

    if is_lock_file(path):
        from launcher.lock import plan_of, read_lock

        plan = plan_of(read_lock(path))
        return _Target(str(path), plan, Store(layout(plan.deployment)))
    checked = check(path)
    plan = sound(checked)
    package = checked.roots.get("sglang")
    depth = Depth(sources=package.parent if package else None, floor=checked.loaded.profile.floor)
    return _Target(str(path), plan, Store(layout(plan.deployment)), depth)


def _of_deployment(name: str | None) -> _Target:
    """The deployment of that name, or the only one; without one, or with several, the machine alone."""
    if name is None and len(deployments()) != 1:
        several = ", ".join(deployments())
        return _Target(f"this machine ({several}: say which with -d)" if several else "this machine")
    store = select(name)
    number = store.current()
    if number is None:
        number = max(store.numbers(), default=None)
    if number is None:
        return _Target("this machine")
    generation = store.generation(number)
    return _Target(store.layout.deployment, generation.plan, store, Depth(floor=_floor(generation.path)))


def _floor(folder: Path) -> float | None:
    """What the generation's profile asks of a transfer; nothing where it can no longer be read."""
    from launcher.profile import examine

    with suppress(InputError):
        return examine(folder / "profile.yaml").loaded.profile.floor
    return None
