"""DR101-DR104: the driver answers, and the cards are those that the profile and the last start meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from launcher.doctor.check import Check, with_a_plan, with_cards, with_cards_that_answer
from launcher.doctor.facts import Facts
from launcher.doctor.finding import Finding
from launcher.doctor.words import count, gpus, numbers
from launcher.observe.card import Absent, Cards
from launcher.plan.model import Service

_FIXES = {
    "library": "install NVIDIA's driver and libraries; in a container: --gpus all, with the NVIDIA container toolkit",
    "driver": "sudo modprobe nvidia; sudo dmesg | grep -i nvrm     says why it does not load",
    "mismatch": "sudo systemctl reboot     the driver was updated while the old one is still loaded",
    "permission": "ls -l /dev/nvidia*; id     who may use the cards, and who asks",
    "hung": "sudo dmesg | grep -i xid; then sudo systemctl reboot     a hung driver lets nobody go",
    "module": "pip install nvidia-ml-py     into pdlaunch's own environment",
    "failed": "nvidia-smi     what the driver's own tool says",
}
_ARCHITECTURE = re.compile(r"(?:^|_)SM(\d{2,3})(?:_|$)")


def driver(facts: Facts) -> Iterator[Finding]:
    """The driver answers about every card."""
    match facts.cards:
        case Absent(why, reason):
            needed = facts.kind == "sglang"
            text = f"no GPU can be used: {reason}"
            fix = f"{_FIXES[why]}; without a GPU: `engine: {{kind: cpu}}`" if why == "library" else _FIXES[why]
            yield Finding("blocker" if needed else "note", "DR101", text, fix)
        case Cards():
            yield from _lost(facts.cards, facts)
            missing = facts.cards.missing
            if missing:
                old = f"this driver does not know {missing[0]}" + (f" and {len(missing) - 1} more" * bool(missing[1:]))
                yield Finding("note", "DR101", f"{old}: some checks see less")
            names = {card.name or "unknown" for card in facts.cards.cards}
            cards = f"{len(facts.cards.cards)}x {' and '.join(sorted(names))}" if names else "no card"
            yield Finding("ok", "DR101", f"{cards}, driver {facts.cards.driver}, up to CUDA {facts.cards.cuda}")


def _lost(found: Cards, facts: Facts) -> Iterator[Finding]:
    for index, said in found.lost.items():
        meant = facts.plan is None or index in facts.wanted
        yield Finding(
            "blocker" if meant else "warning",
            "DR101",
            f"GPU {index} does not answer: {said}",
            "sudo dmesg | grep -i xid; then reboot: a lost card comes back in no other way",
        )


def present(facts: Facts) -> Iterator[Finding]:
    """Every card that the profile names is there."""
    if not isinstance(facts.cards, Cards):
        return
    there = {card.index for card in facts.cards.cards} | set(facts.cards.lost)
    for server in facts.servers:
        if missing := [gpu for gpu in server.gpus if gpu not in there]:
            fix = f"write gpus between 0 and {len(there) - 1}" if there else "nvidia-smi -L; sudo dmesg | grep -i nvrm"
            text = f"{server.name} wants {gpus(missing)}, and this machine has {count(len(there), 'card')}"
            yield Finding("blocker", "DR102", text, fix)
    if facts.plan and not set(facts.wanted) - there:
        yield Finding("ok", "DR102", f"all {len(facts.wanted)} cards of the profile are there: {numbers(facts.wanted)}")


def models(facts: Facts) -> Iterator[Finding]:
    """The cards of one server are alike, and are those that its variables are written for."""
    objections = [finding for server in facts.servers for finding in _unlike(server, facts)]
    yield from objections
    if facts.servers and facts.present and not objections:
        yield Finding("ok", "DR103", "the cards of each server are alike")


def _unlike(server: Service, facts: Facts) -> Iterator[Finding]:
    cards = [card for card in facts.present if card.index in server.gpus]
    kinds = sorted({(card.name or "unknown", card.memory or 0) for card in cards})
    if len(kinds) > 1:
        text = f"{server.name} splits the model over unlike cards: {' and '.join(name for name, _ in kinds)}"
        yield Finding("warning", "DR103", text, "write gpus of one model: the smallest sets the pool of all")
    here = {"".join(map(str, card.capability)) for card in cards if card.capability}
    for variable in server.env:
        wanted = _ARCHITECTURE.search(variable.name) if variable.origin.kind == "profile" else None
        if wanted and here and wanted[1] not in here:
            is_for = f"is for SM{wanted[1]}, and its cards are SM{', SM'.join(sorted(here))}"
            text = f"{server.name}: {variable.name} {is_for}"
            yield Finding("warning", "DR103", text, "delete the line: it acts on other cards")


def same(facts: Facts) -> Iterator[Finding]:
    """Each index is the card that the running generation was started on."""
    if not isinstance(facts.cards, Cards):
        return
    recorded = facts.recorded or {}
    here = {card.uuid: card for card in facts.cards.cards}
    changed = False
    for index in facts.wanted:
        card, then = facts.cards.card(index), recorded.get(index)
        if card and then and card.uuid and card.uuid != then:
            changed = True
            moved = f"that one is GPU {here[then].index} now" if then in here else "that one is gone"
            text = f"GPU {index} is {card.uuid} ({card.pci}), and was {then} at the last start: {moved}"
            yield Finding("blocker", "DR104", text, "nvidia-smi -L; then write the index of the card that is meant")
    if not changed and facts.wanted:
        yield Finding("ok", "DR104", "the cards are those of the last start")


def _with_a_start(facts: Facts) -> str | None:
    if reason := with_a_plan(facts) or with_cards_that_answer(facts):
        return reason
    return None if facts.recorded else "there was no start yet whose cards were recorded"


CHECKS = (
    Check(
        "DR101",
        "the driver answers, about every card",
        "https://docs.nvidia.com/deploy/nvml-api/",
        driver,
        with_cards,
        before_up=True,
    ),
    Check(
        "DR102",
        "every card that the profile names is there",
        "SGLang 0.5.23 does not range-check --base-gpu-id (measured)",
        present,
        with_cards_that_answer,
        before_up=True,
    ),
    Check(
        "DR103",
        "the cards of one server are alike, and are those that its variables are written for",
        "the smallest card sets the memory of all; SGLANG_SM120_* acts on compute capability 12.0 only",
        models,
        with_cards_that_answer,
    ),
    Check(
        "DR104",
        "each index is the card that it was at the last start",
        "indices follow PCI addresses: a card that is added, removed or lost moves those behind it",
        same,
        _with_a_start,
        before_up=True,
    ),
)
