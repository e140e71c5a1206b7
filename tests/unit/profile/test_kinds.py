from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from launcher.profile.kinds import CARDS, COUNTS, DATES, DURATIONS, PORT, Kind, RefusedError, choice, text
from launcher.profile.parsing import parse
from launcher.profile.tree import Block, Node


def node(written: str) -> Node:
    tree, _ = parse(f"key: {written}\n", Path("x.yaml"))
    assert isinstance(tree, Block)
    return tree.entries[0].value


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (DURATIONS, "90s", 90.0),
        (DURATIONS, "30m", 1800.0),
        (DURATIONS, "2h", 7200.0),
        (DURATIONS, "500ms", 0.5),
        (DURATIONS, "1.5h", 5400.0),
        (DURATIONS, "0s", 0.0),
        (COUNTS, "8193", 8193),
        (COUNTS, "64k", 64_000),
        (COUNTS, "1M", 1_000_000),
        (CARDS, "0-3", (0, 1, 2, 3)),
        (CARDS, "0,2,5", (0, 2, 5)),
        (CARDS, "0-1,4-5", (0, 1, 4, 5)),
        (CARDS, "[0, 1]", (0, 1)),
        (CARDS, "[2, 0]", (2, 0)),
        (CARDS, "3", (3,)),
        (PORT, "8000", 8000),
        (DATES, "2026-12-31", dt.date(2026, 12, 31)),
        (choice("a", "b"), "b", "b"),
        (text("a version"), "0.5.23", "0.5.23"),
        (text("a version"), "1.10", "1.10"),
    ],
)
def test_what_a_person_writes(kind: Kind, written: str, value: object) -> None:
    assert kind.read(node(written)) == value


@pytest.mark.parametrize(
    ("kind", "written", "says", "write"),
    [
        (DURATIONS, "60", "carries its unit", "60s"),
        (DURATIONS, "60 sec", "carries its unit", "60s"),
        (DURATIONS, "5 minutes", "carries its unit", "5m"),
        (DURATIONS, "1h30m", "carries its unit", None),
        (DURATIONS, "-5s", "carries its unit", None),
        (DURATIONS, "5d", "carries its unit", None),
        (DURATIONS, "1:30", "reads this as 90", '"1:30"'),
        (DURATIONS, "999h", "longer than", None),
        (DURATIONS, "[1s]", "a list stands here", None),
        (COUNTS, "64K", "k is 1000", None),
        (COUNTS, "0", "k is 1000", None),
        (COUNTS, "1.5k", "k is 1000", None),
        (COUNTS, "99999999999", "k is 1000", None),
        (CARDS, "3-0", "write 0-3", None),
        (CARDS, "0,0", "GPU 0 stands twice", None),
        (CARDS, "0-2,1", "GPU 1 stands twice", None),
        (CARDS, "[]", "empty list", None),
        (CARDS, "all", "written 0-3", None),
        (CARDS, "0-999999999999999999", "out of range", None),
        (CARDS, "256", "out of range", None),
        (CARDS, "{a: 1}", "a mapping stands here", None),
        (CARDS, "", "nothing stands here", None),
        (PORT, '"8000"', "without quotes", "8000"),
        (PORT, "08000", "reads this as 8000", "8000"),
        (PORT, "8_000", "reads this as 8000", None),
        (PORT, "0", "1 to 65535", None),
        (PORT, "65536", "1 to 65535", None),
        (PORT, "9" * 5000, "1 to 65535", None),
        (PORT, "1.5", "a port is meant", None),
        (PORT, "true", "a port is meant", None),
        (DATES, "20261231", "written 2026-12-31", None),
        (DATES, "2026-13-45", "written 2026-12-31", None),
        (choice("nixl", "mooncake"), "nixxl", "allowed: nixl, mooncake", "nixl"),
        (choice("nixl", "mooncake"), "x", "allowed: nixl, mooncake", None),
        (text("a name"), "on", "reads this as true", '"on"'),
        (text("a name"), "true", "a name is meant", '"true"'),
        (text("a name"), "~", "a name is meant", '"~"'),
        (text("a name"), '""', "empty", None),
        (text("a name"), '"a\\nb"', "line break", None),
    ],
)
def test_what_is_refused_and_what_to_write(kind: Kind, written: str, says: str, write: str | None) -> None:
    with pytest.raises(RefusedError) as caught:
        kind.read(node(written))
    assert says in caught.value.error
    assert caught.value.write == write
