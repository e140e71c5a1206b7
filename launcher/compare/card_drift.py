"""The cards of a deployment against what was recorded of them, and who else has memory on them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from launcher.compare.drift import Finding
from launcher.lock.receipt import Gpu
from launcher.observe.card import Absent, Card, Cards
from launcher.plan.model import Service

_MIB = 1024 * 1024


def card_findings(
    services: Iterable[Service],
    cards: Cards | Absent,
    pids: Mapping[str, Collection[int]],
    recorded: Mapping[int, Gpu],
    command: Callable[[int], str | None],
) -> Iterator[Finding]:
    """What is wrong with the cards that `services` use.

    `pids` are the processes of each service that runs, `recorded` the cards as the last receipt has them, and `command`
    says what a process is, or None for one that this machine does not know.
    """
    using = [service for service in services if service.gpus]
    if not using:
        return
    if isinstance(cards, Absent):
        yield Finding("unchecked", "", f"the cards: {cards.reason}")
        return
    every = {pid for found in pids.values() for pid in found}
    for service in using:
        for index in service.gpus:
            card = cards.card(index)
            if card is None:
                why = cards.lost.get(index, "there is none of that number")
                yield Finding("changed", service.name, f"gpu {index} does not answer: {why}")
                continue
            yield from _other_card(service.name, card, recorded.get(index))
            yield from _others(service, card, every, bool(pids.get(service.name)), command)


def _other_card(service: str, card: Card, then: Gpu | None) -> Iterator[Finding]:
    """Another card in the place of the one that the generation was started on."""
    if then and then.uuid and card.uuid and then.uuid != card.uuid:
        yield Finding("changed", service, f"gpu {card.index}", then.uuid, card.uuid)


def _others(
    service: Service, card: Card, ours: Collection[int], runs: bool, command: Callable[[int], str | None]
) -> Iterator[Finding]:
    strangers = [process for process in card.processes if process.pid not in ours]
    names = {process.pid: command(process.pid) for process in strangers}
    if runs and strangers and len(strangers) == len(card.processes) and not any(names.values()):
        # The driver counts processes as the host does: in a container none of its numbers means anything here.
        yield Finding("unchecked", service.name, f"gpu {card.index}: the driver's pids are those of another namespace")
        return
    for process in strangers:
        has = f"{process.memory // _MIB} MiB" if process.memory is not None else "memory"
        who = names[process.pid] or "a process that is gone"
        yield Finding("foreign", service.name, f"gpu {card.index}: pid {process.pid} ({who}) has {has} on it")
