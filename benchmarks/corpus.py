"""How far `pdlaunch knobs lint` agrees with blocks of which is known what an engine makes of them.

Run as ``python benchmarks/corpus.py FILE --engine PATH``. FILE is what the command takes, each block with an ``expect``
beside it: ``{"rejected_args": {flag: reason}, "unknown_env": [name]}``. Every block that differs is printed, with what
was missed and what was a false alarm; exit 1 where there is one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import PDLAUNCH


def main() -> int:
    parser = argparse.ArgumentParser(description="How far knobs lint agrees with blocks that carry an expectation.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--engine", required=True)
    given = parser.parse_args()
    expected = {block["id"]: block["expect"] for block in json.loads(given.file.read_text(encoding="utf-8"))}
    began = time.perf_counter()
    command = [PDLAUNCH, "knobs", "lint", str(given.file), "--engine", given.engine, "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode not in (0, 3):
        sys.stderr.write(done.stderr)
        return 1
    found = {block["id"]: block for block in json.loads(done.stdout)}
    differing = {name: lines for name, expect in expected.items() if (lines := [*differences(expect, found.get(name))])}
    for name, lines in differing.items():
        print("\n  ".join([name, *lines]))
    print(f"{len(expected) - len(differing)} of {len(expected)} blocks agree, {took:.1f} s")
    return 1 if differing else 0


def differences(expect: dict[str, Any], found: dict[str, Any] | None) -> Iterator[str]:
    if found is None:
        yield "not answered"
        return
    for what, wanted, got in (
        ("rejected_args", set(expect["rejected_args"].items()), set(found["rejected_args"].items())),
        ("unknown_env", set(expect["unknown_env"]), set(found["unknown_env"])),
    ):
        yield from (f"{what}: missed {each}" for each in sorted(wanted - got))
        yield from (f"{what}: false alarm {each}" for each in sorted(got - wanted))


if __name__ == "__main__":
    sys.exit(main())
