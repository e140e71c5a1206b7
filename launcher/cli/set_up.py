"""Set-up: render, schema, prune, and the commands beside them."""

from __future__ import annotations

import dataclasses
import json as json_text
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from launcher.cli.adopt_command import adopt
from launcher.cli.doctor_command import doctor
from launcher.cli.knobs_commands import declare
from launcher.cli.lock_commands import lock
from launcher.cli.options import BackendName, Deployment, DryRun, Json, ProfilePath, Why
from launcher.cli.output import note, print_json, say
from launcher.cli.watch_command import watch


def render(
    profile: ProfilePath,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Where to write the files.")],
    backend: BackendName = None,
    dry_run: DryRun = False,
) -> int:
    """Write the files that `up` would record: serve scripts and what the backend reads. Starts nothing."""
    from launcher.operations.rendering import render_into

    for name in render_into(profile, out, backend=backend, dry_run=dry_run):
        say(str(out / name))
    return 0


def schema() -> int:
    """Print the JSON Schema of profiles, for editors."""
    from launcher.profile import schema as profile_schema

    say(json_text.dumps(profile_schema(), indent=2))
    return 0


def prune(
    deployment: Deployment = None,
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many of the newest stay.")] = 20,
    why: Why = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Remove generations that are old, unnamed and not in use, and the engine source that none of the rest runs."""
    from launcher.operations.pruning import prune as remove
    from launcher.operations.pruning import to_prune
    from launcher.operations.selecting import select

    store = select(deployment)
    found = to_prune(store, keep) if dry_run else remove(store, keep, why=why)
    if json:
        print_json({"schema_version": 1, **dataclasses.asdict(found)})
        return 0
    verb = "would remove" if dry_run else "removed"
    say(f"{verb} {len(found.removed)} generations{': ' if found.removed else ''}{', '.join(map(str, found.removed))}")
    for number, reason in found.kept.items():
        say(f"  keeps {number}  {reason}")
    if found.undecided:
        note(f"no engine source was removed: {found.undecided}")
    return 0


COMMANDS: dict[str, Callable[..., int]] = {
    "adopt": adopt,
    "doctor": doctor,
    "lock": lock,
    "declare": declare,
    "watch": watch,
    "render": render,
    "prune": prune,
    "schema": schema,
}
