"""Cards and memory nodes, read from a made-up /proc and /sys."""

from __future__ import annotations

from pathlib import Path

from launcher.observe.numa import card_nodes


def machine(folder: Path, nodes: int, cards: dict[str, str]) -> tuple[Path, Path]:
    nvidia, sys = folder / "nvidia", folder / "sys"
    for node in range(nodes):
        (sys / f"devices/system/node/node{node}").mkdir(parents=True)
    for address, node_of in cards.items():
        (nvidia / "gpus" / address).mkdir(parents=True)
        (sys / "bus/pci/devices" / address).mkdir(parents=True)
        (sys / "bus/pci/devices" / address / "numa_node").write_text(node_of)
    return nvidia, sys


def test_cards_are_counted_in_the_order_of_their_addresses(tmp_path: Path) -> None:
    cards = {"0000:c1:00.0": "1\n", "0000:01:00.0": "0\n", "0000:41:00.0": "-1\n"}
    assert card_nodes(*machine(tmp_path, 2, cards)) == {0: 0, 2: 1}


def test_with_one_node_there_is_nothing_to_choose(tmp_path: Path) -> None:
    assert card_nodes(*machine(tmp_path, 1, {"0000:01:00.0": "0\n"})) == {}


def test_without_a_driver_nothing_is_known(tmp_path: Path) -> None:
    _, sys = machine(tmp_path, 2, {})
    assert card_nodes(tmp_path / "nvidia", sys) == {}


def test_a_card_whose_node_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    nvidia, sys = machine(tmp_path, 2, {"0000:01:00.0": "0\n", "0000:02:00.0": "x"})
    assert card_nodes(nvidia, sys) == {0: 0}
