"""DR201-DR204: how the cards are connected, and whether the profile puts those together that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from launcher.doctor.check import Check, with_cards_that_answer
from launcher.doctor.facts import Facts
from launcher.doctor.finding import Finding
from launcher.doctor.words import gpus, numbers
from launcher.observe.card import Cards


def link(facts: Facts) -> Iterator[Finding]:
    """Each card has all its lanes, at the speed that it can do; an idle card's momentary speed says nothing."""
    fine = True
    for card in facts.present:
        width, most = card.link.width, card.link.max_width
        if width and most and width < most:
            fine = False
            text = f"GPU {card.index} runs on {width} PCIe lanes of {most}"
            fix = f"reseat card or riser, check the slot's bifurcation; sudo lspci -vvs {card.pci} | grep LnkSta"
            yield Finding("warning", "DR201", text, fix)
        slot, own = card.link.max_generation, card.link.card_generation
        if slot and own and slot < own:
            fine = False
            text = f"GPU {card.index} can do PCIe {own}, and its slot only PCIe {slot}"
            yield Finding("warning", "DR201", text, "set the slot's speed in the firmware, or change slot or riser")
    if fine and facts.present:
        widths = sorted({card.link.width for card in facts.present if card.link.width})
        speeds = sorted({card.link.max_generation for card in facts.present if card.link.max_generation})
        text = f"PCIe {'/'.join(map(str, speeds)) or '?'} x{'/'.join(map(str, widths)) or '?'} on every card"
        yield Finding("ok", "DR201", text)


def peers(facts: Facts) -> Iterator[Finding]:
    """Cards that work together reach each other's memory without the host's."""
    if not isinstance(facts.cards, Cards):
        return
    groups = [(server.name, set(combinations(sorted(server.gpus), 2))) for server in facts.servers]
    prefill = [gpu for s in facts.servers if s.role == "prefill" for gpu in s.gpus]
    decode = [gpu for s in facts.servers if s.role == "decode" for gpu in s.gpus]
    if prefill and decode:
        groups.append(("prefill -> decode", {(a, b) for a in prefill for b in decode if a != b}))
    if facts.plan is None:
        groups = [("all cards", set(combinations(facts.wanted, 2)))]
    refused, asked = 0, 0
    for name, pairs in groups:
        found = [p for pair in sorted(pairs) if (p := facts.cards.pair(*pair))]
        asked += len(found)
        bad = [pair for pair in found if not pair.direct]
        refused += len(bad)
        if bad:
            first = bad[0]
            why = first.read if first.read != "ok" else first.write
            ends = f"{first.first}-{first.second}"
            text = f"{name}: {len(bad)} of {len(found)} pairs cannot reach each other ({ends}: {why})"
            fix = "nvidia-smi topo -p2p r     until it is so, use the host's memory: no cuda_ipc, NCCL_P2P_DISABLE"
            yield Finding("warning", "DR202", text, fix)
    if asked and not refused:
        linked = any(pair.nvlink for pair in facts.cards.pairs)
        way = "some by NVLink" if linked else "over PCIe"
        yield Finding("ok", "DR202", f"all {asked} pairs that work together reach each other, {way}")


def sockets(facts: Facts) -> Iterator[Finding]:
    """No server is spread over two sockets while others of the machine lie together."""
    nodes: dict[int, list[int]] = {}
    for card in facts.cards.cards if isinstance(facts.cards, Cards) else ():
        if card.numa is not None:
            nodes.setdefault(card.numa, []).append(card.index)
    if not nodes:
        yield Finding("note", "DR203", "neither Linux nor the driver says which cards belong to which socket")
        return
    lie = ", ".join(f"{numbers(cards)} on node {node}" for node, cards in sorted(nodes.items()))
    crossed = False
    for server in facts.servers:
        spread = {node: [gpu for gpu in server.gpus if gpu in cards] for node, cards in nodes.items()}
        used = {node: cards for node, cards in spread.items() if cards}
        fits = [node for node, cards in nodes.items() if len(cards) >= len(server.gpus)]
        if len(used) > 1 and fits:
            crossed = True
            own = " and ".join(f"{numbers(cards)} on node {node}" for node, cards in sorted(used.items()))
            together = numbers(nodes[fits[0]][: len(server.gpus)])
            text = f"{server.name} crosses sockets: {own}; each step goes over the link between them"
            yield Finding("warning", "DR203", text, f"gpus: {together}     lie together (all: {lie})")
    if not crossed:
        yield Finding("ok", "DR203", f"GPUs {lie}")


def detours(facts: Facts) -> Iterator[Finding]:
    """Neither an IOMMU that translates nor ACS sends traffic between cards up to the root complex."""
    if facts.paths is None:
        return
    if facts.present and not any(facts.paths.bridges.values()):
        yield Finding("note", "DR204", "what lies between the cards cannot be read below /sys")
        return
    fine = True
    index = {card.pci: card.index for card in facts.present}
    translating = [index[pci] for pci, kind in facts.paths.iommu.items() if kind != "identity" and pci in index]
    if translating and len(facts.present) > 1:
        fine = False
        text = f"the IOMMU translates for {gpus(translating)}: peer-to-peer is slow or hangs (NCCL, custom all-reduce)"
        yield Finding("warning", "DR204", text, "add iommu=pt to the kernel's command line, and reboot")
    if facts.paths.redirecting:
        fine = False
        first, *more = facts.paths.redirecting
        text = f"ACS sends traffic between cards through the root complex: {first}" + f" and {len(more)} more" * bool(
            more
        )
        fix = "; ".join(f"sudo setpci -s {bridge} ECAP_ACS+6.w=0000" for bridge in facts.paths.redirecting[:4])
        yield Finding("warning", "DR204", text, f"{fix}     until the next boot; for good: ACS off in the firmware")
    elif facts.paths.unread:
        text = "whether ACS redirects traffic between cards only root can read"
        yield Finding("note", "DR204", text, "sudo pdlaunch doctor")
    if fine and facts.paths.bridges:
        with_iommu = "the IOMMU passes through" if facts.paths.iommu else "no IOMMU"
        yield Finding("ok", "DR204", f"{with_iommu}; {'ACS not read' if facts.paths.unread else 'no ACS redirect'}")


CHECKS = (
    Check(
        "DR201",
        "each card has all its PCIe lanes, in a slot as fast as itself",
        "https://github.com/local-inference-lab/rtx6kpro: links that fell to Gen1 (daily summary 2026-04-14)",
        link,
        with_cards_that_answer,
    ),
    Check(
        "DR202",
        "cards that work together reach each other's memory",
        "https://github.com/local-inference-lab/rtx6kpro/issues/15",
        peers,
        with_cards_that_answer,
    ),
    Check(
        "DR203",
        "no server is spread over two sockets without need",
        "NCCL_P2P_LEVEL: PHB behind one socket, SYS across two; https://docs.nvidia.com/deeplearning/nccl/",
        sockets,
        with_cards_that_answer,
    ),
    Check(
        "DR204",
        "neither IOMMU nor ACS stands between the cards",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html; "
        "https://github.com/NVIDIA/nccl/issues/1999",
        detours,
        with_cards_that_answer,
    ),
)
