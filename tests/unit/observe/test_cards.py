"""What NVML says of the cards, and every way in which it says nothing; the library is the tests' own stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.observe.cards import Absent, Cards, cards

from ...nvml import Nvml


def present(**words: object) -> Cards:
    found = cards(**words)  # type: ignore[arg-type]
    assert isinstance(found, Cards), found
    return found


def absent(**words: object) -> Absent:
    found = cards(**words)  # type: ignore[arg-type]
    assert isinstance(found, Absent), found
    return found


def test_eight_healthy_cards(nvml: Nvml) -> None:
    nvml.box(top="driver 595.71.05")
    found = present()
    assert (found.driver, found.cuda, len(found.cards), found.lost, found.missing) == ("595.71.05", "13.0", 8, {}, ())
    card = found.cards[5]
    assert (card.index, card.uuid, card.pci) == (5, "GPU-00000005-0000-0000-0000-000000000000", "0000:15:00.0")
    assert card.name == "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert (card.numa, card.capability) == (1, (12, 0))
    assert (card.memory, card.used, card.free) == (97887 << 20, 500 << 20, 97387 << 20)
    assert (card.power_limit, card.power_default) == (600.0, 600.0)
    assert (card.link.width, card.link.max_width, card.link.generation) == (16, 16, 1)
    assert (card.link.max_generation, card.link.card_generation) == (5, 5)
    assert (card.slowed, card.uncorrected, card.rows_pending, card.rows_failed) == ((), 0, False, False)
    assert (card.mig, card.compute_mode, card.persistence, card.processes) == (False, "default", True, ())


def test_a_card_that_is_busy_and_unwell(nvml: Nvml) -> None:
    unwell = "limit 450000\nwidth 8\nmax_generation 4\nslowed 64\nuncorrected 3\npending 1\nfailed 1\nmig 1\nmode 3"
    nvml.box(f"process 4242 30000\nprocess 4243 500\n{unwell}\npersistence 0")
    card = present().cards[0]
    assert [(p.pid, p.memory) for p in card.processes] == [(4242, 30000 << 20), (4243, 500 << 20)]
    assert card.used == 31000 << 20
    assert (card.power_limit, card.link.width, card.link.max_generation) == (450.0, 8, 4)
    assert (card.slowed, card.uncorrected) == (("heat (hardware)",), 3)
    assert (card.rows_pending, card.rows_failed, card.mig, card.compute_mode) == (True, True, True, "exclusive")
    assert card.persistence is False


def test_who_reaches_whom(nvml: Nvml) -> None:
    nvml.box("p2p PNCP", count=4)
    found = present()
    by_link, refused = found.pair(0, 1), found.pair(0, 2)
    assert by_link
    assert (by_link.direct, by_link.nvlink) == (True, True)
    assert refused
    assert (refused.direct, refused.read) == (False, "the chipset does not support it")
    assert len(found.pairs) == 12
    assert found.pair(0, 9) is None


def test_ways_meet_in_a_host_bridge_or_not_at_all(nvml: Nvml) -> None:
    nvml.box()
    found = present()
    assert [pair.ancestor for pair in found.pairs if pair.first == 0] == ["host bridge"] * 3 + ["system"] * 4


def test_linux_knows_the_node_before_the_driver(nvml: Nvml, tmp_path: Path) -> None:
    nvml.box(count=2)
    for address, node in (("0000:10:00.0", "3\n"), ("0000:11:00.0", "-1\n")):
        device = tmp_path / "sys/bus/pci/devices" / address
        device.mkdir(parents=True)
        (device / "numa_node").write_text(node)
    assert [card.numa for card in present(sys_folder=tmp_path / "sys").cards] == [3, 0]


def test_one_lost_card_does_not_hide_the_others(nvml: Nvml) -> None:
    nvml.box("", "", "lost 1")
    found = present()
    assert [card.index for card in found.cards] == [0, 1, 3, 4, 5, 6, 7]
    assert found.lost == {2: "GPU is lost"}


def test_an_old_driver_lacks_functions_and_answers_the_rest(nvml: Nvml) -> None:
    nvml.box("uncorrected 3", old=True)
    found = present()
    card = found.cards[0]
    assert "nvmlDeviceGetRemappedRows" in found.missing
    assert (card.uncorrected, card.rows_pending, card.link.card_generation) == (None, None, None)
    assert card.memory == 97887 << 20


@pytest.mark.parametrize(
    ("code", "why", "reason"),
    [
        (9, "driver", "the NVIDIA library is here, but the driver is not loaded"),
        (18, "mismatch", "the NVIDIA library is of another version than the loaded driver"),
        (4, "permission", "this user may not ask the NVIDIA driver"),
        (999, "failed", "NVML says: Unknown Error"),
    ],
)
def test_why_nothing_can_be_said(nvml: Nvml, code: int, why: str, reason: str) -> None:
    nvml.says(f"init {code}\n")
    assert absent() == Absent(why, reason)  # type: ignore[arg-type]


def test_a_driver_that_hangs_is_left_behind(nvml: Nvml) -> None:
    nvml.says("hang 600\n")
    found = absent(patience=0.5)
    assert found.why == "hung"
    assert "does not answer: asked for 0.5 s" in found.reason


def test_without_a_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")  # in the way of one that this machine may have
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert absent().why == "library"


def test_a_library_that_ends_the_process(nvml: Nvml) -> None:
    nvml.box("no such word")
    assert absent() == Absent("failed", "asking NVML ended with exit status -6 and no answer")
