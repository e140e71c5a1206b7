"""The ways between cards, in a tree as Linux has it in /sys."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.observe.pci import acs_control, paths

CARD, BRIDGE, ROOT = "0000:15:00.0", "0000:14:01.0", "0000:10:01.1"


def config(control: int | None, *, at: int = 0x148) -> bytes:
    """A configuration space with AER at 0x100 and, behind it, ACS with that control word."""
    data = bytearray(4096)
    following = at if control is not None else 0
    struct.pack_into("<I", data, 0x100, 0x0001 | 1 << 16 | following << 20)
    if control is not None:
        struct.pack_into("<IHH", data, at, 0x000D | 1 << 16, 0x007F, control)
    return bytes(data)


def tree(folder: Path, bridge: bytes, kind: str | None = None) -> Path:
    """A card behind a switch's port behind a root port."""
    sys = folder / "sys"
    device = sys / "devices/pci0000:10" / ROOT / BRIDGE / CARD
    device.mkdir(parents=True)
    links = sys / "bus/pci/devices"
    links.mkdir(parents=True)
    for place in (device.parents[1], device.parent, device):
        (links / place.name).symlink_to(place)
    (device.parents[1] / "config").write_bytes(config(0))
    (device.parent / "config").write_bytes(bridge)
    if kind:
        (device / "iommu_group").mkdir()
        (device / "iommu_group/type").write_text(f"{kind}\n")
    return sys


def test_the_bridges_above_a_card_nearest_first(tmp_path: Path) -> None:
    found = paths([CARD], tree(tmp_path, config(0)))
    assert found.bridges == {CARD: (BRIDGE, ROOT)}
    assert (found.redirecting, found.unread, found.iommu) == ((), (), {})


def test_a_bridge_that_redirects(tmp_path: Path) -> None:
    found = paths([CARD], tree(tmp_path, config(0x1D), "DMA-FQ"))
    assert found.redirecting == (BRIDGE,)
    assert found.iommu == {CARD: "DMA-FQ"}


def test_source_validation_alone_redirects_nothing(tmp_path: Path) -> None:
    assert paths([CARD], tree(tmp_path, config(0x01))).redirecting == ()


def test_what_only_root_may_read(tmp_path: Path) -> None:
    assert paths([CARD], tree(tmp_path, config(0x1D)[:64])).unread == (BRIDGE,)


def test_a_card_that_is_gone(tmp_path: Path) -> None:
    found = paths(["0000:99:00.0"], tmp_path)
    assert (found.bridges, found.redirecting) == ({"0000:99:00.0": ()}, ())


@pytest.mark.parametrize("control", [0x00, 0x01, 0x1D, 0x7F])
def test_the_control_word_is_found_in_the_chain(control: int) -> None:
    assert acs_control(config(control)) == control
    assert acs_control(config(None)) == 0


@given(st.binary(min_size=0x100, max_size=0x400))
def test_no_configuration_space_makes_it_hang_or_raise(data: bytes) -> None:
    assert 0 <= acs_control(data) <= 0xFFFF
