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
from launcher.cli.options import BackendName, Deployment, DryRun, Json, ProfilePath, Why, Yes
from launcher.cli.output import interactive, note, print_json, say
from launcher.cli.watch_command import watch
from launcher.errors import InputError


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
    all_: Annotated[
        bool, typer.Option("--all", help="Forget a stopped deployment altogether: generations, names, journal, logs.")
    ] = False,
    why: Why = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Remove generations that are old, unnamed and not in use, and the engine source that none of the rest runs."""
    from launcher.operations.pruning import prune as remove
    from launcher.operations.pruning import to_prune
    from launcher.operations.selecting import select

    if all_:
        return _forget(deployment, why, yes=yes, dry_run=dry_run, json=json)
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


def _forget(deployment: str | None, why: str | None, *, yes: bool, dry_run: bool, json: bool) -> int:
    """Forget the deployment that was named: that it is the only one is no reason to guess here."""
    from launcher.operations.forgetting import forget, to_forget
    from launcher.operations.selecting import select

    if deployment is None:
        raise InputError("--all forgets a whole deployment, which has to be named", hint="pdlaunch prune --all -d NAME")
    store = select(deployment)
    found = to_forget(store)
    names = f", and its names: {', '.join(found.names)}" if found.names else ""
    what = f"{found.deployment}: {len(found.generations)} generations with journal and logs{names}"
    if not (dry_run or yes):
        note(f"would remove {what}")
        if not interactive():
            raise InputError("this needs a yes", hint=f"pdlaunch prune --all -d {found.deployment} --yes")
        if not typer.confirm("go?", default=False, err=True):
            note("nothing was changed")
            return 0
    if not dry_run:
        forget(store, why=why)
    if json:
        print_json({"schema_version": 1, **dataclasses.asdict(found)})
    else:
        say(f"{'would remove' if dry_run else 'removed'} {what}")
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
