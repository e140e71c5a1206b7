"""The versions that the CPU engine is made of, from pins.txt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from launcher.engines.environment import normalised

FILE = Path(__file__).with_name("pins.txt")
_HEADING = "# group "


def groups(text: str) -> Mapping[str, tuple[str, ...]]:
    """Requirements by group, in the order of the file; a line ``# group NAME: why`` starts a group."""
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(_HEADING):
            name = line.removeprefix(_HEADING).partition(":")[0].strip()
            found[name] = ()
        elif line.strip() and not line.startswith("#"):
            found[name] += (line.strip(),)
    return found


def versions(requirements: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Normalised name of each pinned distribution to its version."""
    pairs = (line.partition("==") for group in requirements.values() for line in group)
    return {normalised(name): version for name, _, version in pairs}
