"""DR105-DR107: nobody else is on the cards, there is room, and they may be shared by several processes."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.doctor.check import Check, with_cards_that_answer
from launcher.doctor.facts import Facts
from launcher.doctor.finding import Finding, Level
from launcher.doctor.words import gpus, person, size
from launcher.observe.card import Card
from launcher.plan.model import Service

_LITTLE = 1 << 30
"""Bytes. A desktop or a monitoring agent takes less; an engine that was left behind takes far more."""
_BALANCE = 0.9
"""Of the free memory of a server's best card, which each of the others must have (0.5.23, distributed/bootstrap.py)."""
_DRIVERS_OWN = 2 << 30
"""Bytes that a card may be short of without a process: the driver keeps some for itself."""


def leftovers(facts: Facts) -> Iterator[Finding]:
    """No process of somebody else, and of an earlier start, has memory on a card."""
    clean = True
    held: dict[int, list[tuple[Card, int | None]]] = {}
    for card in facts.present:
        for process in card.processes:
            if process.pid not in facts.ours:
                held.setdefault(process.pid, []).append((card, process.memory))
    for pid, places in sorted(held.items()):
        clean = False
        yield _held(facts, pid, places)
    for card in facts.present:
        if (card.used or 0) > _DRIVERS_OWN and not card.processes and not _hidden(card, facts):
            clean = False
            text = f"GPU {card.index} holds {size(card.used or 0)} of no process: one that is gone, or in a container"
            fix = f"sudo fuser -v /dev/nvidia{card.index}; then sudo nvidia-smi --gpu-reset -i {card.index}"
            yield Finding("blocker" if facts.plan else "warning", "DR105", text, fix)
    if clean and facts.present:
        own = " but this deployment" if facts.ours else ""
        yield Finding("ok", "DR105", f"nobody{own} is on {gpus(card.index for card in facts.present)}")


def _hidden(card: Card, facts: Facts) -> bool:
    """Whether the driver does not show this deployment's own processes, as in a container with its own pids."""
    return bool(facts.ours) and not any(process.pid in facts.ours for process in card.processes)


def _held(facts: Facts, pid: int, places: list[tuple[Card, int | None]]) -> Finding:
    level: Level
    known = [memory for _, memory in places if memory is not None]
    takes = f"{size(sum(known))} of " if known else ""
    where = gpus(card.index for card, _ in places)
    much = len(known) < len(places) or sum(known) >= _LITTLE
    level = "blocker" if much and facts.plan else "warning" if much else "note"
    holder = facts.holders.get(pid)
    if holder is None:
        level = "note" if facts.containers and facts.ours else level  # it may well be our own, by another number
        inside = (
            "another container's, or the host's" if facts.containers else "another namespace's, or it has just ended"
        )
        text = f"{where}: {takes}pid {pid}, which cannot be seen from here ({inside})"
        return Finding(level, "DR105", text, f"on the host: ps -fp {pid}, then kill {pid}")
    if holder.deployment:
        text = f"{where}: {takes}{holder.service} of deployment {holder.deployment}, pid {pid}"
        return Finding(level, "DR105", text, f"pdlaunch down -d {holder.deployment}")
    return Finding(
        level, "DR105", f"{where}: {takes}{person(holder)}", f"kill {pid}     as {holder.user}, or with sudo"
    )


def room(facts: Facts) -> Iterator[Finding]:
    """The cards of a server have as much free as each other, and nearly all that they have."""
    objections = [finding for server in facts.servers for finding in _short(server, facts)]
    yield from objections
    if facts.present and not objections:
        free = min(card.free or 0 for card in facts.present)
        yield Finding("ok", "DR106", f"at least {size(free)} are free on each card")


def _short(server: Service, facts: Facts) -> Iterator[Finding]:
    cards = [card for card in facts.present if card.index in server.gpus and not _hidden(card, facts)]
    free = {card: card.free + _own(card, facts) for card in cards if card.free is not None}
    if not free:
        return
    least, most = min(free, key=lambda card: free[card]), max(free.values())
    has = f"{server.name}: GPU {least.index} has {size(free[least])} free"
    if free[least] < _BALANCE * most:
        text = f"{has}, another one {size(most)}: SGLang refuses cards that differ by more than a tenth"
        yield Finding("blocker", "DR106", text, "free the card first (DR105); the memory fraction is not what is wrong")
    elif least.memory and free[least] < _BALANCE * least.memory:
        text = f"{has} of {size(least.memory)}: SGLang takes its fraction of what is free, so the KV pool shrinks"
        yield Finding(
            "warning", "DR106", text, "free the cards first (DR105); the memory fraction is not what is wrong"
        )


def _own(card: Card, facts: Facts) -> int:
    """Bytes that this deployment holds there, and gives back before it starts again."""
    return sum(process.memory or 0 for process in card.processes if process.pid in facts.ours)


def shared(facts: Facts) -> Iterator[Finding]:
    """The cards are whole, and take more than one process."""
    fine = True
    for card in facts.present:
        if card.mig:
            fine = False
            fix = f"sudo nvidia-smi -i {card.index} -mig 0"
            yield Finding("blocker", "DR107", f"GPU {card.index} is cut into MIG slices: it cannot be used whole", fix)
        if card.compute_mode in ("prohibited", "exclusive"):
            fine = False
            only = "no process" if card.compute_mode == "prohibited" else "one process"
            text = f"GPU {card.index} takes {only}: its compute mode is {card.compute_mode}, and KV transfer needs two"
            yield Finding("blocker", "DR107", text, f"sudo nvidia-smi -i {card.index} -c 0")
    if asleep := [card.index for card in facts.present if card.persistence is False]:
        text = (
            f"{gpus(asleep)}: persistence mode is off, so the driver unloads while nobody looks, and starts are slower"
        )
        yield Finding("note", "DR107", text, "sudo nvidia-smi -pm 1     or enable nvidia-persistenced")
    if fine and facts.present:
        yield Finding("ok", "DR107", "the cards are whole and may be shared")


CHECKS = (
    Check(
        "DR105",
        "nobody else has memory on the cards",
        "https://github.com/vllm-project/vllm/issues/47266; a start that fails for it blames the memory fraction",
        leftovers,
        with_cards_that_answer,
        before_up=True,
    ),
    Check(
        "DR106",
        "the cards of a server have as much free as each other, and nearly all that they have",
        "SGLang 0.5.23, distributed/bootstrap.py:442 (balance), mem_cache/kv_cache_configurator.py:3007 (pool)",
        room,
        with_cards_that_answer,
        before_up=True,
    ),
    Check(
        "DR107",
        "the cards are whole, and take several processes",
        "https://docs.nvidia.com/deploy/nvml-api/ (MIG, compute mode, persistence)",
        shared,
        with_cards_that_answer,
        before_up=True,
    ),
)
