"""`render`: the files of a profile, written where one can read them. Starts nothing and records nothing."""

from __future__ import annotations

from pathlib import Path

from launcher.errors import InputError
from launcher.operations.planning import planned
from launcher.render import render
from launcher.store import layout


def render_into(profile: Path, folder: Path, *, backend: str | None, dry_run: bool) -> tuple[str, ...]:
    """Write the profile's bundle below `folder`; the names of the files, which `dry_run` only tells.

    Raises InputError for a profile with errors, and for a folder that is a file.
    """
    plan = planned(profile, backend=backend).plan
    bundle = render(plan, layout(plan.deployment))
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="name another with -o DIR")
    for name, file in bundle.files.items():
        if dry_run:
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # an earlier rendering is read-only
        path.write_text(file.text, encoding="utf-8")
        path.chmod(file.mode)
    return tuple(sorted(bundle.files))
