"""Set-up: render, schema."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from launcher.cli.options import BackendName, DryRun, ProfilePath
from launcher.cli.output import say


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


COMMANDS: dict[str, Callable[..., int]] = {"render": render, "schema": schema}
