from __future__ import annotations

import re

from launcher.engines.cpu import pins


def test_groups_keep_the_order_of_the_file() -> None:
    text = "# about\n\n# group torch\ntorch==2.13.0+cpu\n\n# group rest: why these\n# more\nPyYAML==6.0.4\n a==1 \n"
    assert pins.groups(text) == {"torch": ("torch==2.13.0+cpu",), "rest": ("PyYAML==6.0.4", "a==1")}
    assert list(pins.groups(text)) == ["torch", "rest"]


def test_versions_are_found_by_the_name_that_compares() -> None:
    assert pins.versions({"a": ("partial_json.parser==0.2.1.1.post7",)}) == {"partial-json-parser": "0.2.1.1.post7"}


def test_every_shipped_requirement_is_an_exact_pin_and_stands_once() -> None:
    groups = pins.groups(pins.FILE.read_text())
    lines = [line for group in groups.values() for line in group]
    assert list(groups) == ["torch", "libraries", "engine"]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line)] == []
    assert len(pins.versions(groups)) == len(lines)


def test_the_shipped_engine_is_the_one_that_the_layer_was_written_for() -> None:
    versions = pins.versions(pins.groups(pins.FILE.read_text()))
    wanted = {"sglang": "0.5.23", "torch": "2.13.0+cpu", "nixl": "1.5.1", "sglang-router": "0.3.2"}
    assert wanted.items() <= versions.items()
