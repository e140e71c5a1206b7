"""Units on the disk: regular files that name one generation, each replaced in one step.

Nothing that boots depends on all of them being of one generation: that is the boot unit's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from launcher.backends.files import in_words, replace
from launcher.render import Layout
from launcher.render.systemd import ready_unit, rejoin_unit, verify_unit, watch_unit
from launcher.render.systemd.lasting import lasting


def place(folder: Path, wanted: Mapping[str, str], layout: Layout) -> bool:
    """Make the deployment's units in `folder` exactly `wanted` (name to text); whether anything changed.

    Raises PdlaunchError where the system refuses.
    """
    changed = {name: text for name, text in wanted.items() if read(folder / name) != text}
    stale = [path for path in own(folder, layout) if path.name not in wanted]
    with in_words(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in changed.items():
        put(folder / name, text)
    for path in stale:
        with in_words(path):
            path.unlink(missing_ok=True)
    return bool(changed or stale)


def own(folder: Path, layout: Layout) -> tuple[Path, ...]:
    """The deployment's units that lie in `folder`, but for those that no generation owns."""
    name = layout.deployment
    found = [path for path in folder.glob(f"pd-{name}*") if path.is_file() and path.name not in lasting(name)]
    mark = f"X-Deployment={name}"  # another deployment's name may begin alike
    return tuple(sorted(path for path in found if mark in (read(path) or "").splitlines()))


def installed(folder: Path, layout: Layout) -> tuple[str, ...]:
    """The services that have a unit in `folder`."""
    prefix, suffix = f"pd-{layout.deployment}-", ".service"
    units = [path.name for path in own(folder, layout) if path.suffix == suffix]
    beside = {unit(layout.deployment) for unit in (ready_unit, rejoin_unit, watch_unit, verify_unit)}
    return tuple(unit.removeprefix(prefix).removesuffix(suffix) for unit in units if unit not in beside)


def put(path: Path, text: str) -> None:
    """Write a unit, readable for everyone, in one step."""
    replace(path, text)


def read(path: Path) -> str | None:
    """The text of a unit, or None where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
