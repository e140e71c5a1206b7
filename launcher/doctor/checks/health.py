"""DR111-DR114: the cards are well: memory errors, Xids, power and heat."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.doctor.check import Check, with_cards, with_cards_that_answer
from launcher.doctor.facts import Facts
from launcher.doctor.finding import Finding, Level
from launcher.doctor.words import count, gpus
from launcher.observe.card import Cards
from launcher.observe.xids import Xid

_SERIOUS = {
    48: "memory error that could not be corrected",
    63: "a row of memory was replaced",
    64: "a row of memory could not be replaced",
    74: "NVLink error",
    79: "fell off the bus",
    92: "many corrected memory errors",
    94: "memory error, contained",
    95: "memory error, not contained",
    119: "the card's own processor did not answer",
    120: "the card's own processor failed",
    140: "ECC error that was not recovered",
    154: "needs a reset or a reboot",
}
"""https://docs.nvidia.com/deploy/xid-errors/: numbers that speak of the card or its driver; 13, 31 and 43 speak of the
program that ran."""


def errors(facts: Facts) -> Iterator[Finding]:
    """No memory error that ECC could not correct, no row that waits for a reset."""
    well = True
    for card in facts.present:
        reset = f"sudo nvidia-smi --gpu-reset -i {card.index}     with nothing on it"
        if card.rows_failed:
            well = False
            text = f"GPU {card.index} has a bad row of memory that cannot be replaced"
            yield Finding("blocker", "DR111", text, f"nvidia-smi -q -i {card.index} -d ROW_REMAPPER; have it replaced")
        elif card.rows_pending:
            well = False
            yield Finding("warning", "DR111", f"GPU {card.index} waits for a reset to replace a bad row", reset)
        if card.uncorrected:
            well = False
            text = f"GPU {card.index} had {count(card.uncorrected, 'memory error')} that ECC could not correct"
            yield Finding("warning", "DR111", f"{text}, since the driver was loaded", reset)
    if well and facts.present:
        unknown = all(card.uncorrected is None for card in facts.present)
        yield Finding(
            "ok", "DR111", "ECC is off, or not told" if unknown else "no memory error since the driver loaded"
        )


def kernel_log(facts: Facts) -> Iterator[Finding]:
    """The kernel has no Xid of these cards."""
    if isinstance(facts.xids, str):
        text = f"the kernel's log cannot be read ({facts.xids}), so whether a card failed since boot is not known"
        yield Finding("note", "DR112", text, "sudo dmesg | grep -i xid")
        return
    index = {card.pci: card.index for card in facts.cards.cards} if isinstance(facts.cards, Cards) else {}
    groups: dict[tuple[str, int], list[Xid]] = {}
    for xid in facts.xids or ():
        groups.setdefault((xid.pci, xid.number), []).append(xid)
    for (pci, number), events in groups.items():
        level: Level = "warning" if number in _SERIOUS else "note"
        who = f"GPU {index[pci]}" if pci in index else f"the card at {pci}"
        last = events[-1]
        what = _SERIOUS.get(number, last.text or "see NVIDIA's list")
        times = f"{len(events)} times, last" if len(events) > 1 else "once,"
        text = f"{who}: Xid {number} ({what}) {times} {_since_boot(last.at)} after boot"
        yield Finding(level, "DR112", text, "sudo dmesg | grep -i xid; https://docs.nvidia.com/deploy/xid-errors/")
    if not groups:
        yield Finding("ok", "DR112", "no Xid since boot, as far as the kernel's log reaches")


def _since_boot(seconds: float) -> str:
    minutes = int(seconds) // 60
    return f"{minutes // 60}:{minutes % 60:02d} h" if minutes else f"{int(seconds)} s"


def power(facts: Facts) -> Iterator[Finding]:
    """The power limit is the one that the card was made for."""
    fine = True
    for card in facts.present:
        limit, usual = card.power_limit, card.power_default
        if limit is not None and usual is not None and limit < usual - 0.5:
            fine = False
            text = (
                f"GPU {card.index} is limited to {limit:g} W of its {usual:g} W: slower, and not what others measured"
            )
            yield Finding("warning", "DR113", text, f"sudo nvidia-smi -i {card.index} -pl {usual:g}")
    if fine and facts.present:
        yield Finding("ok", "DR113", "no card is limited below its usual power")


def slowed(facts: Facts) -> Iterator[Finding]:
    """No clock is held down by heat or by the power supply."""
    for card in facts.present:
        if card.slowed:
            text = f"GPU {card.index} holds its clocks down now: {', '.join(card.slowed)}"
            yield Finding("warning", "DR114", text, f"nvidia-smi -q -i {card.index} -d TEMPERATURE,PERFORMANCE")
    if facts.present and not any(card.slowed for card in facts.present):
        yield Finding("ok", "DR114", f"{gpus(card.index for card in facts.present)}: no clock is held down")


CHECKS = (
    Check(
        "DR111",
        "no memory error that ECC could not correct",
        "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/",
        errors,
        with_cards_that_answer,
        before_up=True,
    ),
    Check(
        "DR112",
        "the kernel reports no Xid of the cards",
        "https://docs.nvidia.com/deploy/xid-errors/",
        kernel_log,
        with_cards,
    ),
    Check(
        "DR113",
        "the power limit is the card's usual one",
        "https://docs.nvidia.com/deploy/nvml-api/",
        power,
        with_cards_that_answer,
    ),
    Check(
        "DR114",
        "no clock is held down by heat or by the power supply",
        "https://docs.nvidia.com/deploy/nvml-api/ (clocks event reasons)",
        slowed,
        with_cards_that_answer,
    ),
)
