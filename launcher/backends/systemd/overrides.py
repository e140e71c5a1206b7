"""What is in force beside, or instead of, the units as they were recorded: drop-ins, edits, masks.

Most are well meant and do something else than expected: a drop-in's ``Environment=`` reaches no service that starts
from an empty environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from launcher.backends.systemd import placing
from launcher.backends.systemd.systemctl import Systemctl

PROPERTIES = ("LoadState", "FragmentPath", "DropInPaths")


def overrides(systemctl: Systemctl, recorded: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Unit, and what is not as `recorded` (unit name to text), for each deviation."""
    shown = systemctl.show(recorded, PROPERTIES)
    for name, text in recorded.items():
        info = shown.get(name, {})
        if info.get("LoadState") == "masked":
            yield name, f"{name} is masked: nothing starts it"
            continue
        path = systemctl.units / name
        there = placing.read(path)
        if there is None:
            yield name, f"{path} is gone"
        elif there != text:
            yield name, f"{path} was edited"
        if (fragment := info.get("FragmentPath")) and Path(fragment) != path:
            yield name, f"{fragment} stands in the way of {path}"
        yield from ((name, _drop_in(Path(drop_in))) for drop_in in _paths(info.get("DropInPaths", "")))


def _paths(shown: str) -> list[str]:
    # What holds for every service of the machine (service.d) is the distribution's or the administrator's business.
    return [path for path in shown.split() if Path(path).parent.name.startswith("pd-")]


def _drop_in(path: Path) -> str:
    text = placing.read(path) or ""
    keys = [line.partition("=")[0].strip() for line in text.splitlines() if "=" in line and line[:1] not in "#;"]
    sets = f" (sets {', '.join(dict.fromkeys(keys))})" if keys else ""
    idle = "; Environment= has no effect: services start from an empty environment"
    return f"drop-in {path}{sets}{idle if 'Environment' in keys else ''}"
