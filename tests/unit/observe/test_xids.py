"""What the kernel said of cards, from its own format."""

from __future__ import annotations

from pathlib import Path

from launcher.observe.xids import Xid, parse, xids

LOG = """\
6,1201,55000000,-;pci 0000:15:00.0: enabling device
 SUBSYSTEM=pci
 DEVICE=+pci:0000:15:00.0
4,1301,98765432,-;NVRM: Xid (PCI:0000:15:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
4,1302,99000000,c;NVRM: Xid (PCI:0000:C1:00.0): 31, pid=4242, name=python, Ch 00000008, MMU Fault
3,1303,99000001,-;NVRM: GPU 0000:15:00.0: RmInitAdapter failed!
"""


def test_every_xid_with_its_card_and_time() -> None:
    first, second = parse(LOG)
    assert (first.pci, first.number, first.at) == ("0000:15:00.0", 79, 98.765432)
    assert first.text.endswith("GPU has fallen off the bus.")
    assert (second.pci, second.number) == ("0000:c1:00.0", 31)


def test_lines_of_another_form_are_read_as_well() -> None:
    assert parse("[12.3] NVRM: Xid (PCI:0000:15:00): 45") == (Xid("0000:15:00.0", 45, "", 0.0),)
    assert parse("") == ()


def test_a_log_that_is_not_there_says_why(tmp_path: Path) -> None:
    assert xids(tmp_path / "kmsg") == f"{tmp_path / 'kmsg'}: No such file or directory"


def test_a_log_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "kmsg").write_text(LOG * 500)
    found = xids(tmp_path / "kmsg")
    assert len(found) == 1000
