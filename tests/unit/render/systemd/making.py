"""Plans for systemd, their bundles, and the units that they become."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from launcher.plan import Plan, resolve
from launcher.profile import load
from launcher.render import Layout, render
from launcher.render.systemd import Command, Scope, placed
from launcher.shipped import shipped

from ...plan.making import FACTS

COMMAND = Command(Path("/usr/local/bin/pdlaunch"))
NODES = {card: card // 4 for card in range(8)}


def shipped_plan(name: str = "dsv4-flash") -> Plan:
    return resolve(load(shipped("profiles") / f"{name}.yaml"), FACTS, backend="systemd")


def layout(name: str, state: Path = Path("/var/lib/pdlaunch")) -> Layout:
    return Layout(
        deployment=name, state=state / name, cache=Path("/var/cache/pdlaunch"), run=Path("/run/pdlaunch") / name
    )


def written(folder: Path, text: str) -> Plan:
    """The plan of a profile's text."""
    path = folder / "profile.yaml"
    path.write_text(text)
    return resolve(load(path), FACTS, backend="systemd")


def bundle_units(plan: Plan, at: Layout) -> dict[str, str]:
    """The units of a bundle, by the names that they will have."""
    files = render(plan, at).files
    return {
        Path(name).name.removesuffix(".in"): file.text
        for name, file in files.items()
        if name.startswith("systemd/") and name.endswith(".in")
    }


def units(
    plan: Plan,
    at: Layout | None = None,
    scope: Scope = "system",
    number: int = 37,
    nodes: Mapping[int, int] = NODES,
    command: Command | None = COMMAND,
) -> Mapping[str, str]:
    """The units as they are installed."""
    return placed(bundle_units(plan, at or layout(plan.deployment)), number, scope, nodes=nodes, command=command)


def settings(unit: str) -> dict[str, list[str]]:
    """Key to values of a unit's text."""
    found: dict[str, list[str]] = {}
    for line in unit.splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found
